package dev.banyan.djl.internal.engine;

import ai.djl.ndarray.NDArray;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import dev.banyan.djl.internal.processes.PhaseEvent;
import dev.banyan.djl.internal.processes.Processes;
import dev.banyan.djl.internal.torch.HostArray;
import dev.banyan.djl.internal.torch.Packed;
import dev.banyan.reduce.internal.Completions;
import dev.banyan.schedule.type.DataType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * The running means and variances of the normalisation blocks of a model. Not the optimiser but the forward pass
 * changes them, in each process by its own samples. Not safe for use from several threads.
 */
public final class RunningStatistics {
    private final Block block;
    private final Processes processes;
    /** Grows to the greatest need. The garbage collector frees it, as a failed exchange may still access it. */
    private MemorySegment memory = MemorySegment.NULL;

    public RunningStatistics(Block block, Processes processes) {
        this.block = block;
        this.processes = processes;
    }

    /** Returns whether a parameter holds running statistics. */
    static boolean holds(Parameter parameter) {
        return parameter.getType() == Parameter.Type.RUNNING_MEAN || parameter.getType() == Parameter.Type.RUNNING_VAR;
    }

    /** Averages the statistics over all processes, which all call it after the same step. */
    public void average() {
        Map<DataType, List<NDArray>> byType = block.getParameters().values().stream()
                .filter(parameter -> holds(parameter) && parameter.isInitialized())
                .map(Parameter::getArray)
                .collect(Collectors.groupingBy(
                        HostArray::type, () -> new EnumMap<>(DataType.class), Collectors.toList()));
        if (!byType.isEmpty()) {
            PhaseEvent event = PhaseEvent.begin("running statistics");
            byType.forEach((type, arrays) ->
                    average(type, arrays.stream().map(HostArray::of).toList()));
            event.done();
        }
    }

    /** Averages arrays of one type by one call, since they are short. */
    private void average(DataType type, List<HostArray> arrays) {
        long bytes = Packed.bytes(arrays);
        if (memory.byteSize() < bytes) {
            memory = Arena.ofAuto().allocate(bytes, Long.BYTES);
        }
        Packed packed = new Packed(arrays, memory);
        packed.gather();
        Completions.join(processes.average(memory, bytes / type.bytes(), type));
        packed.scatter();
    }
}
