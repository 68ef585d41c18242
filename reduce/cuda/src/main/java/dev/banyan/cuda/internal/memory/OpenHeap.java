package dev.banyan.cuda.internal.memory;

import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.driver.MappedMemory;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import jcuda.driver.CUresult;

/**
 * Memory of devices that is open to all of them. A mapping has at least 2 MiB, so that shorter pieces share one, each
 * in a place whose length is a power of two; such a mapping lasts until {@link #free()}. Safe for use from any thread.
 */
final class OpenHeap {
    private static final long LONGEST_SHARED = 1 << 20;
    private static final long SHORTEST = 512;

    private record Kind(CudaDevice device, long bytes) {}

    private final List<CudaDevice> viewers;
    /** Mappings that a piece has alone, by address. */
    private final Map<Long, MappedMemory> whole = new TreeMap<>();

    private final List<MappedMemory> shared = new ArrayList<>();
    private final Map<Kind, Deque<Long>> spares = new HashMap<>();
    private final Map<Long, Kind> kinds = new HashMap<>();

    /** @param viewers all devices */
    OpenHeap(List<CudaDevice> viewers) {
        this.viewers = viewers;
    }

    /** Returns the address of memory that is in use from now on. Its contents are undefined. */
    synchronized long allocate(CudaDevice device, long bytes) {
        if (bytes > LONGEST_SHARED) {
            MappedMemory mapping = new MappedMemory(device, bytes, viewers);
            whole.put(mapping.address().value(), mapping);
            return mapping.address().value();
        }
        Kind kind = new Kind(device, Math.max(SHORTEST, Long.highestOneBit(2 * bytes - 1)));
        Deque<Long> places = spares.computeIfAbsent(kind, _ -> new ArrayDeque<>());
        if (places.isEmpty()) {
            MappedMemory mapping = new MappedMemory(device, 2 * LONGEST_SHARED, viewers);
            shared.add(mapping);
            for (long at = 0; at < mapping.bytes(); at += kind.bytes()) {
                places.add(mapping.address().value() + at);
            }
        }
        long address = places.remove();
        kinds.put(address, kind);
        return address;
    }

    /** Gives memory back, which nothing uses any more, and returns the driver's result. */
    synchronized int free(long address) {
        Kind kind = kinds.remove(address);
        if (kind != null) {
            spares.getOrDefault(kind, new ArrayDeque<>()).push(address);
            return CUresult.CUDA_SUCCESS;
        }
        MappedMemory mapping = whole.remove(address);
        return mapping == null ? CUresult.CUDA_SUCCESS : mapping.free();
    }

    /**
     * Frees everything; nothing runs.
     *
     * @return results of the driver
     */
    synchronized List<Integer> free() {
        shared.addAll(whole.values());
        List<Integer> results = shared.stream().map(MappedMemory::free).toList();
        whole.clear();
        shared.clear();
        spares.clear();
        kinds.clear();
        return results;
    }
}
