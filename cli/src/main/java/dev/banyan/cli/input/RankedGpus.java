package dev.banyan.cli.input;

import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.topology.Device;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The GPU of each rank.
 *
 * @param chosen the machine that says how the ranks are linked
 * @param gpus the GPU of each rank, as the driver counts them
 */
public record RankedGpus(ChosenMachine chosen, List<Integer> gpus) {
    public RankedGpus {
        gpus = List.copyOf(gpus);
    }

    /**
     * Finds GPUs by their PCI bus ids, since CUDA may count them in another order than a machine has them; where the
     * machine does not have the bus ids of this one, its indices are taken as CUDA's.
     *
     * @param named a device of the whole machine for each rank
     * @param busIds of the GPUs, as the driver counts them
     */
    static RankedGpus of(ChosenMachine chosen, int[] named, List<String> busIds) {
        List<Device> devices = chosen.whole().devices();
        boolean here = IntStream.of(named)
                .allMatch(index -> index < devices.size()
                        && busIds.contains(devices.get(index).busId()));
        return new RankedGpus(
                chosen,
                IntStream.of(named)
                        .map(index -> here ? busIds.indexOf(devices.get(index).busId()) : index)
                        .boxed()
                        .toList());
    }

    /** The GPU of each rank; a new array. */
    public int[] ordinals() {
        return gpus.stream().mapToInt(Integer::intValue).toArray();
    }
}
