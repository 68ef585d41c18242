package dev.banyan.simulate.training;

import dev.banyan.reduce.algorithm.CollectiveAlgorithm;
import dev.banyan.reduce.algorithm.ForestAlgorithm;
import dev.banyan.reduce.algorithm.PackedAlgorithm;
import dev.banyan.reduce.algorithm.StarAlgorithm;
import dev.banyan.reduce.type.Collective;
import dev.banyan.simulate.Profile;
import dev.banyan.simulate.Simulator;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.Machine;
import dev.banyan.trees.ForestGenerator;
import dev.banyan.trees.balanced.KernighanLin;
import dev.banyan.trees.network.Network;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.function.Function;
import java.util.stream.IntStream;

/**
 * The key stores that the original design of topology-aware trees compares, and what Banyan adds to them. Making
 * one builds its trees. Immutable and safe for use from any thread.
 *
 * <p>Source of the first three: "Single machine All Reduce Topology-aware Communication", Apache MXNet wiki, and
 * MXNet's classes {@code CommDevice}, {@code CommDeviceTree} and {@code KVStoreNCCL}.
 */
public final class KeyStores {
    /** Length in bytes of the chunks of a packed forest: a copy that long keeps an NVLink busy. */
    private static final long CHUNK_BYTES = 1 << 20;

    private KeyStores() {}

    /**
     * MXNet's {@code device} store: a key is summed up on one device, to which all others copy it, and copied back
     * from there. Keys are dealt out from the largest on, each to the device that has least so far.
     */
    public static KeyStore parameterServer(Machine machine, Profile profile) {
        int ranks = machine.size();
        List<CollectiveAlgorithm> stars = IntStream.range(0, ranks)
                .<CollectiveAlgorithm>mapToObj(centre -> new StarAlgorithm(ranks, centre))
                .toList();
        return onEngine("parameter server", machine, profile, gradients -> dealtOut(gradients, stars));
    }

    private static List<CollectiveAlgorithm> dealtOut(List<Gradient> gradients, List<CollectiveAlgorithm> stars) {
        List<CollectiveAlgorithm> chosen = new ArrayList<>(Collections.nCopies(gradients.size(), stars.getFirst()));
        long[] load = new long[stars.size()];
        IntStream.range(0, gradients.size())
                .boxed()
                .sorted(Comparator.comparingLong(key -> -gradients.get(key).elements()))
                .forEach(key -> {
                    int least = IntStream.range(0, load.length)
                            .boxed()
                            .min(Comparator.comparingLong(device -> load[device]))
                            .orElseThrow();
                    load[least] += gradients.get(key).elements();
                    chosen.set(key, stars.get(least));
                });
        return chosen;
    }

    /**
     * MXNet's tree store: keys of up to {@code arrayBound} elements go over the balanced tree of device 0, larger
     * ones in slices over the trees of all devices. Nothing is cut into chunks.
     *
     * @param arrayBound in elements
     */
    public static KeyStore trees(String name, Machine machine, Profile profile, long arrayBound) {
        ForestGenerator generator = new KernighanLin();
        LinkMatrix links = LinkMatrix.of(machine);
        CollectiveAlgorithm single = new ForestAlgorithm("single-tree", generator.generate(links, 0));
        CollectiveAlgorithm multi = new ForestAlgorithm(
                "multi-tree",
                generator.generate(links, IntStream.range(0, machine.size()).toArray()));
        return onEngine(name, machine, profile, gradients -> gradients.stream()
                .map(gradient -> gradient.elements() > arrayBound ? multi : single)
                .toList());
    }

    private static KeyStore onEngine(
            String name,
            Machine machine,
            Profile profile,
            Function<List<Gradient>, List<CollectiveAlgorithm>> chooser) {
        Network network = Network.ofAllLinks(machine, IntStream.range(0, machine.size()).toArray());
        Simulator simulator = new Simulator(network, List.of(), MxnetEngine.on(profile));
        return new ScheduledStore(name, simulator, Long.MAX_VALUE, chooser);
    }

    /**
     * Banyan's packed forest: every key goes over all trees of the best packing, in chunks, as a recorded plan that
     * one launch starts.
     */
    public static KeyStore packedForest(Machine machine, Profile profile) {
        Network network = Network.of(machine);
        PackedAlgorithm packed = new PackedAlgorithm(network);
        Simulator simulator =
                new Simulator(network, packed.packing(Collective.ALL_REDUCE, -1).links(), profile);
        return new ScheduledStore(
                "packed forest", simulator, CHUNK_BYTES, gradients -> Collections.nCopies(gradients.size(), packed));
    }
}
