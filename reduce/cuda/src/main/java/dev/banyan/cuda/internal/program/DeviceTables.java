package dev.banyan.cuda.internal.program;

import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.driver.DeviceAddress;
import dev.banyan.cuda.internal.driver.DriverFunction;
import dev.banyan.cuda.internal.driver.DriverObjects;
import dev.banyan.cuda.internal.memory.Blocks;
import dev.banyan.cuda.internal.memory.CopyLane;
import dev.banyan.cuda.internal.memory.TableBlocks;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Memory of devices that plans of programs need: their tables and scratch memory. Used by one thread at a time. */
public final class DeviceTables {
    private final Map<CudaDevice, CopyLane> lanes;
    private final TableBlocks tables = new TableBlocks();
    private final Map<CudaDevice, Blocks> scratch = new HashMap<>();
    private final Map<CudaDevice, Long> doneCounters = new HashMap<>();
    private final List<DriverObjects> objects = new ArrayList<>();

    /** Writes a table. */
    public interface Writer {
        /**
         * Returns the table as it must lie in memory.
         *
         * @param address where it will lie
         * @param doneCounter address of 4 bytes in the memory of the GPU, 0 before the first launch
         */
        ByteBuffer at(long address, long doneCounter);
    }

    /** @param lanes copies to each device */
    public DeviceTables(Map<CudaDevice, CopyLane> lanes) {
        this.lanes = lanes;
    }

    /** Writes a table to a device, on which blocks of a function are to read it. */
    public ProgramPlan.Part part(CudaDevice device, int bytes, int blocks, Writer table, DriverFunction function) {
        TableBlocks.Block block = tables.take(device, bytes);
        long address = block.address().value();
        CopyLane.of(device, lanes).write(address, MemorySegment.ofBuffer(table.at(address, doneCounter(device))));
        return new ProgramPlan.Part(device, block, blocks, function);
    }

    private long doneCounter(CudaDevice device) {
        return doneCounters.computeIfAbsent(device, _ -> {
            DriverObjects own = new DriverObjects(device);
            objects.add(own);
            DeviceAddress word = own.memory(4);
            CopyLane.of(device, lanes).clear(word, 4);
            return word.value();
        });
    }

    /** Returns the address of scratch memory of a device, which all plans share as they run one at a time. */
    long scratch(CudaDevice device, long bytes) {
        return scratch.computeIfAbsent(device, Blocks::new).take(bytes);
    }

    /** Takes back the table of a part that nothing runs any more. */
    public void give(ProgramPlan.Part part) {
        tables.give(part.table());
    }

    /**
     * Frees everything; nothing runs.
     *
     * @return results of the driver
     */
    public List<Integer> free(boolean sound) {
        List<Integer> results = new ArrayList<>(tables.free());
        objects.forEach(one -> results.addAll(one.free()));
        scratch.values().forEach(blocks -> blocks.free(sound));
        return results;
    }
}
