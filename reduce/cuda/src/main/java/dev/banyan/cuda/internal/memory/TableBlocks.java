package dev.banyan.cuda.internal.memory;

import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.driver.DeviceAddress;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import jcuda.driver.JCudaDriver;

/**
 * Memory of devices for tables of programs. What a closed program gives back is used again: to free it the driver would
 * wait for all that runs. Used by one thread at a time.
 */
public final class TableBlocks {
    private static final long LEAST = 1 << 12;

    /** Memory of a device; its length is a power of two. */
    public record Block(CudaDevice device, DeviceAddress address, long bytes) {}

    private record Kind(CudaDevice device, long bytes) {}

    private final Map<Kind, Deque<Block>> spares = new HashMap<>();
    private final List<Block> all = new ArrayList<>();

    /** Returns memory of at least that length. */
    public Block take(CudaDevice device, long bytes) {
        long length = Math.max(LEAST, Long.highestOneBit(bytes - 1) << 1);
        Block spare = spares(device, length).poll();
        if (spare != null) {
            return spare;
        }
        Block block = new Block(device, device.allocate(length, " for a table"), length);
        all.add(block);
        return block;
    }

    /** Takes back what nothing uses any more. */
    public void give(Block block) {
        spares(block.device(), block.bytes()).push(block);
    }

    private Deque<Block> spares(CudaDevice device, long bytes) {
        return spares.computeIfAbsent(new Kind(device, bytes), _ -> new ArrayDeque<>());
    }

    /**
     * Frees everything; nothing runs.
     *
     * @return results of the driver
     */
    public List<Integer> free() {
        List<Integer> results = all.stream()
                .map(block -> JCudaDriver.cuMemFree(block.address()))
                .toList();
        all.clear();
        spares.clear();
        return results;
    }
}
