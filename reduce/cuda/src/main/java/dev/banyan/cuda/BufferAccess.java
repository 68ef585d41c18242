package dev.banyan.cuda;

import dev.banyan.schedule.Location;
import dev.banyan.schedule.Space;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Stream;
import jcuda.Pointer;
import jcuda.driver.CUmemAccess_flags;
import jcuda.driver.CUpointer_attribute;
import jcuda.driver.CUresult;
import jcuda.driver.JCudaDriver;

/**
 * Sees to it that every device that touches a buffer may. Enabled peer access opens memory of cuMemAlloc alone; pools
 * and mapped memory have access of their own for each device. Pools are opened to the devices that need it; mapped
 * memory is refused, as only its owner knows how it is mapped.
 *
 * <p>Cost: some calls of the driver for each pair of a buffer and a device, and for each mapping of a buffer.
 */
final class BufferAccess {
    /** Use of a rank's input or output by a device. */
    private record Use(boolean input, int rank, CudaDevice device) {}

    private final GraphPlan plan;
    private final long[] addresses;
    /** The end of what each device touches, in bytes from the begin of the buffer. */
    private final Map<Use, Long> uses = new LinkedHashMap<>();

    /** @param addresses of the inputs of ranks 0..n-1, then of their outputs */
    BufferAccess(GraphPlan plan, long[] addresses) {
        this.plan = plan;
        this.addresses = addresses;
        for (Route route : plan.routes()) {
            for (NodeTemplate template : route.templates()) {
                Stream.concat(template.sources().stream(), Stream.of(template.target()))
                        .filter(operand -> operand.kind() == Operand.Kind.BUFFER)
                        .forEach(operand -> add(route, operand.index(), template.rank()));
            }
        }
    }

    private void add(Route route, int buffer, int rank) {
        Location location = route.buffers().get(buffer);
        long end = 0;
        for (Route.Piece piece : route.pieces()) {
            end = Math.max(end, piece.offsets().get(buffer) + piece.elements() * plan.elementBytes());
        }
        uses.merge(
                new Use(
                        location.space() == Space.INPUT,
                        location.rank(),
                        plan.devices().get(rank)),
                end,
                Math::max);
    }

    /** @throws IllegalArgumentException if a device cannot be let to touch a buffer; the message says what to do */
    void grant() {
        uses.forEach((use, bytes) -> {
            long address = addresses[use.input() ? use.rank() : plan.devices().size() + use.rank()];
            for (long at = address; at < address + bytes; ) {
                at = grant(use, at, address + bytes);
            }
        });
    }

    /** Grants access to the allocation or mapping that holds an address, and returns the end of that. */
    private long grant(Use use, long at, long end) {
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
        if (start + size < end) {
            throw new IllegalArgumentException("the buffer of rank " + use.rank() + " at 0x" + Long.toHexString(at)
                    + " ends " + (end - start - size) + " bytes behind its allocation; give one that is long enough");
        }
        return end;
    }

    private static long endOfMapping(long at) {
        long start = attribute(CUpointer_attribute.CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, at, at);
        return start + attribute(CUpointer_attribute.CU_POINTER_ATTRIBUTE_MAPPING_SIZE, at, Long.MAX_VALUE - start);
    }

    /** Returns what the driver says of an address; the default where it does not say anything. */
    private static long attribute(int attribute, long address, long otherwise) {
        long[] value = {0};
        int result = JCudaDriver.cuPointerGetAttribute(Pointer.to(value), attribute, new DeviceAddress(address));
        if (result == CUresult.CUDA_ERROR_INVALID_VALUE || result == CUresult.CUDA_ERROR_NOT_SUPPORTED) {
            return otherwise;
        }
        Cuda.check(result, "cuPointerGetAttribute of the address 0x" + Long.toHexString(address));
        return value[0];
    }
}
