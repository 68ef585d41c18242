package dev.banyan.jmh;

import dev.banyan.schedule.algorithm.CollectiveAlgorithm;
import dev.banyan.schedule.algorithm.ForestAlgorithm;
import dev.banyan.schedule.algorithm.PackedAlgorithm;
import dev.banyan.schedule.algorithm.RingAlgorithm;
import dev.banyan.schedule.algorithm.StarAlgorithm;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.Machine;
import dev.banyan.trees.balanced.KernighanLin;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.ring.RingFinder;
import java.util.stream.IntStream;

/** The algorithms of the benchmarks, by the names that the command uses. */
final class NamedAlgorithm {
    private NamedAlgorithm() {}

    /** Creates an algorithm over all devices of a machine, with its trees except for those of a packing. */
    static CollectiveAlgorithm of(String name, Machine machine) {
        LinkMatrix matrix = LinkMatrix.of(machine);
        int[] all = IntStream.range(0, machine.size()).toArray();
        return switch (name) {
            case "single-tree" -> new ForestAlgorithm(name, new KernighanLin().generate(matrix, 0));
            case "multi-tree" -> new ForestAlgorithm(name, new KernighanLin().generate(matrix, all));
            case "ring" -> new RingAlgorithm(RingFinder.order(matrix));
            case "star" -> new StarAlgorithm(machine.size());
            case "packing" -> new PackedAlgorithm(Network.of(machine));
            default ->
                throw new IllegalArgumentException(name + " is not single-tree, multi-tree, ring, star or packing");
        };
    }
}
