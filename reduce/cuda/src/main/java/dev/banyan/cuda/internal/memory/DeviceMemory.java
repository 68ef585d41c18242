package dev.banyan.cuda.internal.memory;

import dev.banyan.cuda.internal.driver.CallerContext;
import dev.banyan.cuda.internal.driver.Cuda;
import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.driver.DeviceAddress;
import dev.banyan.cuda.internal.driver.ProcessFault;
import dev.banyan.cuda.type.CudaException;
import dev.banyan.reduce.internal.BackendArguments;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentNavigableMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import java.util.function.IntSupplier;
import jcuda.driver.CUpointer_attribute;
import jcuda.driver.CUresult;
import jcuda.driver.JCudaDriver;
import org.jspecify.annotations.Nullable;

/**
 * Memory that a backend allocates for its users, and copies between any memory of its devices and the host.
 *
 * <p>The driver waits for a device's work before it frees memory. Memory that an arena frees while something runs there
 * is therefore kept until a later call finds that nothing runs.
 *
 * <p>Safe for use from any thread.
 */
public final class DeviceMemory {
    /** @param heap that has it, or null if it is open to its device alone */
    private record Allocation(
            CudaDevice device, long bytes, @Nullable OpenHeap heap) {}

    private final Ranks ranks;
    private final Map<CudaDevice, CopyLane> lanes;
    private final BooleanSupplier running;
    /** Memory that is open to all devices; null if there is none. */
    private final @Nullable OpenHeap heap;

    /** The allocations on devices, by address. */
    private final ConcurrentNavigableMap<Long, Allocation> allocations = new ConcurrentSkipListMap<>();
    /** Free what arenas gave back. */
    private final ConcurrentLinkedQueue<IntSupplier> kept = new ConcurrentLinkedQueue<>();

    private final AtomicLong frees = new AtomicLong();

    /**
     * @param lanes copies to and from each device
     * @param running whether something runs on the devices, so that the driver would wait before it frees memory
     * @param open whether memory is open to all devices
     */
    public DeviceMemory(Ranks ranks, Map<CudaDevice, CopyLane> lanes, BooleanSupplier running, boolean open) {
        this.ranks = ranks;
        this.lanes = lanes;
        this.running = running;
        heap = open ? new OpenHeap(ranks.held()) : null;
    }

    /** Allocates zeroed memory of a rank's device, which {@link #free} frees. */
    public MemorySegment allocate(int rank, long bytes) {
        BackendArguments.checkAllocation(rank, ranks.size(), bytes);
        return bytes == 0 ? MemorySegment.NULL : DeviceSpace.segment(allocated(rank, bytes), bytes);
    }

    /** Allocates zeroed memory of a rank's device, which the arena frees, or {@link #free} if that comes first. */
    @SuppressWarnings("restricted")
    public MemorySegment allocate(int rank, long bytes, Arena arena) {
        BackendArguments.checkAllocation(rank, ranks.size(), bytes);
        BackendArguments.checkShared(arena);
        if (bytes == 0) {
            return MemorySegment.NULL.reinterpret(0, arena, null);
        }
        long address = allocated(rank, bytes);
        try {
            return MemorySegment.ofAddress(address).reinterpret(bytes, arena, _ -> free(address));
        } catch (RuntimeException e) {
            free(address);
            throw e;
        }
    }

    /**
     * Memory in the same place of all devices, which all may touch.
     *
     * @param addresses on each device
     * @param multicast the address of all in the switch
     */
    public record Together(List<Long> addresses, long multicast) {}

    /**
     * Allocates such memory, which lasts until {@link #free()}. Returns nothing if the devices do not open theirs to
     * each other, or the switch has no address for it.
     *
     * @throws CudaException if memory is missing; nothing is left
     */
    public Optional<Together> allocateTogether(long bytes) {
        return heap == null ? Optional.empty() : heap.allocateTogether(bytes);
    }

    private long allocated(int rank, long bytes) {
        freeKept();
        CudaDevice device = ranks.get(rank);
        OpenHeap opened = heap;
        DeviceAddress address =
                opened == null ? device.allocate(bytes, "") : new DeviceAddress(opened.allocate(device, bytes));
        allocations.put(address.value(), new Allocation(device, bytes, opened));
        CopyLane.of(device, lanes).clear(address, bytes);
        return address.value();
    }

    /** Frees memory of a device unless that is done; {@link #freeKept} does it where something runs. */
    private void free(long address) {
        Allocation allocation = allocations.remove(address);
        if (allocation != null) {
            frees.incrementAndGet();
            free(() -> freed(address, allocation));
        }
    }

    private static int freed(long address, Allocation allocation) {
        OpenHeap opened = allocation.heap();
        return opened == null ? JCudaDriver.cuMemFree(new DeviceAddress(address)) : opened.free(address);
    }

    /** Frees something now, or later where something runs. */
    public void free(IntSupplier memory) {
        kept.add(memory);
        freeKept();
    }

    /** Frees what arenas gave back, unless something runs. */
    private void freeKept() {
        if (kept.isEmpty() || ProcessFault.isThere() || running.getAsBoolean()) {
            return;
        }
        CallerContext.tryKeep(ranks.leader(), () -> {
            boolean sound = ranks.leader().fault() == CUresult.CUDA_SUCCESS;
            for (IntSupplier memory = kept.poll(); memory != null; memory = kept.poll()) {
                int result = memory.getAsInt();
                if (sound) {
                    Cuda.check(result, "freeing memory of an arena");
                }
            }
        });
    }

    /** Copies from the host to a device. */
    public void write(MemorySegment target, MemorySegment source) {
        checkLengths(target, source);
        if (source.byteSize() > 0) {
            CopyLane.of(owner(target), lanes).write(target.address(), source);
        }
    }

    /** Copies from a device to the host. */
    public void read(MemorySegment source, MemorySegment target) {
        checkLengths(source, target);
        if (target.byteSize() > 0) {
            CopyLane.of(owner(source), lanes).read(source.address(), target);
        }
    }

    /** Returns host memory for a copy, which the thread of the driver's calls may touch while its owner waits. */
    @SuppressWarnings("restricted")
    public static MemorySegment forDriver(MemorySegment host) {
        Thread caller = Thread.currentThread();
        if (!caller.isVirtual()
                || !host.isNative()
                || !host.isAccessibleBy(caller)
                || !host.scope().isAlive()) {
            return host;
        }
        MemorySegment open = MemorySegment.ofAddress(host.address()).reinterpret(host.byteSize());
        return host.isReadOnly() ? open.asReadOnly() : open;
    }

    private static void checkLengths(MemorySegment device, MemorySegment host) {
        if (device.byteSize() < host.byteSize()) {
            throw new IllegalArgumentException(
                    "the device's memory has " + device.byteSize() + " bytes, the host's " + host.byteSize());
        }
    }

    private CudaDevice owner(MemorySegment buffer) {
        int ordinal = ordinal("the buffer", buffer.address());
        return lanes.keySet().stream()
                .filter(device -> device.ordinal() == ordinal)
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("the buffer at 0x" + Long.toHexString(buffer.address())
                        + " is on device " + ordinal + ", which has no rank"));
    }

    /** Returns how often memory of a device was freed. */
    long frees() {
        return frees.get();
    }

    /** Returns whether bytes are within one piece of memory that was allocated here on a rank's device. */
    boolean holds(int rank, long address, long bytes) {
        return holding(rank, address, bytes) != null;
    }

    /** Returns whether they are, and all devices may touch them. */
    boolean isOpen(int rank, long address, long bytes) {
        Allocation holding = holding(rank, address, bytes);
        return holding != null && holding.heap() != null;
    }

    /** Returns the multicast address of memory that lies in the same place on all devices, or 0 if there is none. */
    long multicast(long[] addresses) {
        return heap == null ? 0 : heap.multicast(addresses);
    }

    private @Nullable Allocation holding(int rank, long address, long bytes) {
        Map.Entry<Long, Allocation> below = allocations.floorEntry(address);
        return below != null
                        && below.getValue().device().equals(ranks.get(rank))
                        && address + bytes <= below.getKey() + below.getValue().bytes()
                ? below.getValue()
                : null;
    }

    /** Returns the end of the allocation that has an address, or the greatest address if none has it. */
    long end(long address) {
        Map.Entry<Long, Allocation> below = allocations.floorEntry(address);
        long end = below == null ? 0 : below.getKey() + below.getValue().bytes();
        return end > address ? end : Long.MAX_VALUE;
    }

    /** @throws IllegalArgumentException if an address is no memory of the rank's device */
    void checkOwner(int rank, long address) {
        int ordinal = ordinal("the buffer of rank " + rank, address);
        int own = ranks.get(rank).ordinal();
        if (ordinal != own) {
            throw new IllegalArgumentException("the buffer of rank " + rank + " at 0x" + Long.toHexString(address)
                    + " is on device " + ordinal + ", but the rank is on device " + own);
        }
    }

    private int ordinal(String buffer, long address) {
        ranks.leader().enter();
        DeviceAddress.Attribute ordinal =
                new DeviceAddress(address).attribute(CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
        if (ordinal.result() == CUresult.CUDA_ERROR_INVALID_VALUE) {
            throw new IllegalArgumentException(buffer + " at 0x" + Long.toHexString(address)
                    + " is no memory of a device; take it from Communicator.allocate or CudaBackend.memory");
        }
        Cuda.check(ordinal.result(), "cuPointerGetAttribute of " + buffer);
        return (int) ordinal.value();
    }

    /**
     * Frees everything; nothing runs.
     *
     * @return results of the driver
     */
    public List<Integer> free() {
        List<Integer> results = new ArrayList<>();
        for (long address : List.copyOf(allocations.keySet())) {
            // An automatic arena may free it at the same time.
            Allocation allocation = allocations.remove(address);
            if (allocation != null) {
                results.add(freed(address, allocation));
            }
        }
        for (IntSupplier memory = kept.poll(); memory != null; memory = kept.poll()) {
            results.add(memory.getAsInt());
        }
        if (heap != null) {
            results.addAll(heap.free());
        }
        return results;
    }
}
