package dev.banyan.cuda.internal.memory;

import dev.banyan.cuda.internal.driver.Cuda;
import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.driver.DeviceAddress;
import dev.banyan.cuda.internal.driver.MemoryPools;
import dev.banyan.reduce.internal.sum.SumPass;
import dev.banyan.reduce.optimizer.ParameterUpdate;
import dev.banyan.schedule.Space;
import java.util.LinkedHashMap;
import java.util.Map;
import jcuda.driver.CUmemAccess_flags;
import jcuda.driver.CUpointer_attribute;
import jcuda.driver.CUresult;

/**
 * Sees to it that every device that touches a buffer may. Enabled peer access opens memory of cuMemAlloc alone; pools
 * and mapped memory have access of their own for each device. Pools are opened to the devices that need it; mapped
 * memory is refused, as only its owner knows how it is mapped.
 *
 * <p>Cost: some calls of the driver for each pair of a buffer and a device, and for each mapping of a buffer, when they
 * are first seen. Used by one thread at a time.
 */
public final class BufferAccess {
    /**
     * Use of a rank's buffer.
     *
     * @param space INPUT or OUTPUT
     * @param rank the rank
     * @param device that touches it
     */
    public record Use(Space space, int rank, CudaDevice device) {
        /** Returns where the buffer begins. */
        public long address(long[] inputs, long[] outputs) {
            return (space == Space.INPUT ? inputs : outputs)[rank];
        }
    }

    private record Known(Use use, long address, long bytes) {}

    private static final int MOST_KNOWN = 4096;

    private final DeviceMemory memory;
    /** The buffers that were checked last; the driver is asked once for each. */
    private final Map<Known, Boolean> known = new LinkedHashMap<>(16, 0.75f, true) {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean removeEldestEntry(Map.Entry<Known, Boolean> eldest) {
            return size() > MOST_KNOWN;
        }
    };

    public BufferAccess(DeviceMemory memory) {
        this.memory = memory;
    }

    /** Returns how often the backend's users have freed memory: what was checked before may be other memory now. */
    public long frees() {
        return memory.frees();
    }

    /**
     * Checks and grants a use of a buffer.
     *
     * @param bytes of the buffer that are used
     * @param inputs address of each rank's input
     * @param outputs address of each rank's output
     * @throws IllegalArgumentException if it is no memory of the rank's device, ends too early, or a device cannot be
     *     let to touch it; the message says what to do
     */
    public void check(Use use, long bytes, long[] inputs, long[] outputs) {
        check(use, bytes, (use.space() == Space.INPUT ? inputs : outputs)[use.rank()]);
    }

    /**
     * Returns whether all buffers are memory of the backend that is open to all devices.
     *
     * @param uses of buffers, and the end of what is touched in bytes from a buffer's begin
     */
    public boolean areOpen(Map<Use, Long> uses, long[] inputs, long[] outputs) {
        return uses.entrySet().stream()
                .allMatch(use ->
                        memory.isOpen(use.getKey().rank(), use.getKey().address(inputs, outputs), use.getValue()));
    }

    /** Returns the multicast address of buffers that lie in the same place on all devices, or 0 if there is none. */
    public long multicast(long[] buffers) {
        return memory.multicast(buffers);
    }

    /**
     * Checks and grants what an update does.
     *
     * @param device of its rank
     * @throws IllegalArgumentException as {@link #check(Use, long, long[], long[])}
     */
    public void check(ParameterUpdate update, CudaDevice device) {
        Use read = new Use(Space.INPUT, update.rank(), device);
        Use write = new Use(Space.OUTPUT, update.rank(), device);
        long bytes = update.count() * update.type().bytes();
        if (bytes > 0) {
            check(read, bytes, update.gradient().address());
            check(write, bytes, update.value().address());
        }
        long stateBytes = update.optimizer().stateBytes(update.type(), update.count());
        if (stateBytes > 0) {
            check(write, stateBytes, update.state().address());
        }
    }

    /**
     * Checks and grants what a pass of a reproducible sum does.
     *
     * @param device of its rank
     * @throws IllegalArgumentException as {@link #check(Use, long, long[], long[])}
     */
    public void check(SumPass pass, CudaDevice device) {
        Space space = pass.stage() == SumPass.Stage.RESULTS ? Space.OUTPUT : Space.INPUT;
        long bytes = pass.count() * pass.sum().type().bytes();
        check(new Use(space, pass.rank(), device), bytes, pass.values().address());
    }

    private void check(Use use, long bytes, long address) {
        if (memory.holds(use.rank(), address, bytes) || known.get(new Known(use, address, bytes)) != null) {
            return;
        }
        memory.checkOwner(use.rank(), address);
        checkEnd(use, address, memory.end(address), address + bytes);
        for (long at = address; at < address + bytes; ) {
            at = grant(use, at, address + bytes);
        }
        known.put(new Known(use, address, bytes), true);
    }

    /** Grants access to the allocation or mapping that holds an address, and returns the end of that. */
    private static long grant(Use use, long at, long end) {
        if (attribute(CUpointer_attribute.CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, at, 0) != 0) {
            return endOf(use, at, end);
        }
        use.device().enter();
        long pool = attribute(CUpointer_attribute.CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, at, 0);
        if (!mayAccess(at) && !(pool != 0 && MemoryPools.open(pool, use.device().ordinal()) && mayAccess(at))) {
            throw new IllegalArgumentException("the buffer of rank " + use.rank() + " at 0x" + Long.toHexString(at)
                    + (pool == 0 ? " is mapped memory" : " is memory of a pool") + " that device "
                    + use.device().ordinal() + " may not touch; allow it by "
                    + (pool == 0 ? "cuMemSetAccess" : "cuMemPoolSetAccess")
                    + ", or take data through the host by MXNET_ENABLE_GPU_P2P=0");
        }
        return pool == 0 ? endOfMapping(at) : endOf(use, at, end);
    }

    private static boolean mayAccess(long at) {
        return attribute(CUpointer_attribute.CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, at, 0)
                == CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    }

    private static long endOf(Use use, long at, long end) {
        long start = attribute(CUpointer_attribute.CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, at, at);
        long size = attribute(CUpointer_attribute.CU_POINTER_ATTRIBUTE_RANGE_SIZE, at, end - at);
        checkEnd(use, at, start + size, end);
        return end;
    }

    private static void checkEnd(Use use, long at, long allocated, long end) {
        if (allocated < end) {
            throw new IllegalArgumentException("the buffer of rank " + use.rank() + " at 0x" + Long.toHexString(at)
                    + " ends " + (end - allocated) + " bytes behind its allocation; give one that is long enough");
        }
    }

    private static long endOfMapping(long at) {
        long start = attribute(CUpointer_attribute.CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, at, at);
        return start + attribute(CUpointer_attribute.CU_POINTER_ATTRIBUTE_MAPPING_SIZE, at, Long.MAX_VALUE - start);
    }

    /** Returns what the driver says of an address; the default where it does not say anything. */
    private static long attribute(int attribute, long address, long otherwise) {
        DeviceAddress.Attribute said = new DeviceAddress(address).attribute(attribute);
        if (said.result() == CUresult.CUDA_ERROR_INVALID_VALUE || said.result() == CUresult.CUDA_ERROR_NOT_SUPPORTED) {
            return otherwise;
        }
        Cuda.check(said.result(), "cuPointerGetAttribute of the address 0x" + Long.toHexString(address));
        return said.value();
    }
}
