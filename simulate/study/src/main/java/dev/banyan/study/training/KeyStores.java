package dev.banyan.study.training;

import dev.banyan.schedule.internal.algorithm.CollectiveAlgorithm;
import dev.banyan.schedule.internal.algorithm.ForestAlgorithm;
import dev.banyan.schedule.internal.algorithm.PackedAlgorithm;
import dev.banyan.schedule.internal.algorithm.StarAlgorithm;
import dev.banyan.schedule.type.Collective;
import dev.banyan.simulate.Profile;
import dev.banyan.simulate.Simulator;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.Machine;
import dev.banyan.trees.Forest;
import dev.banyan.trees.ForestGenerator;
import dev.banyan.trees.balanced.KernighanLin;
import dev.banyan.trees.network.Network;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.function.Function;
import java.util.stream.IntStream;

/**
 * The key stores that the original design of topology-aware trees compares, and what Banyan adds to them. Making
 * one builds its trees. Safe for use from any thread.
 *
 * <p>Sources: "Single machine All Reduce Topology-aware Communication", Apache MXNet wiki, and the classes {@code
 * CommDevice}, {@code CommDeviceTree} and {@code KVStoreNCCL} of MXNet 1.3. Those run on MXNet's engine: a thread
 * of the host queues each copy and each sum, another launches it and waits for it.
 */
public final class KeyStores {
    /** Length in bytes of the chunks of a packed forest: a copy that long keeps an NVLink busy. */
    private static final long CHUNK_BYTES = 1 << 20;

    /** NCCL's reduce or broadcast, and the wait for it, twice; and the root's copy of the result. */
    private static final int NCCL_OPERATIONS = 5;

    private KeyStores() {}

    /** MXNet's {@code nccl} store: NCCL's reduce to device 0, then its broadcast from there, one key after another. */
    public static KeyStore nccl(Machine machine, Profile profile) {
        return new NcclStore(machine, profile, MxnetEngine.pushPullUs(NCCL_OPERATIONS), MxnetEngine.OPERATION_US);
    }

    /**
     * MXNet's {@code device} store: a key is summed up on one device, to which all others copy it, and copied back
     * from there. Keys are dealt out from the largest on, each to the device that has least so far.
     */
    public static KeyStore parameterServer(Machine machine, Profile profile) {
        int ranks = machine.size();
        List<CollectiveAlgorithm> stars = IntStream.range(0, ranks)
                .<CollectiveAlgorithm>mapToObj(root -> new StarAlgorithm(ranks, root))
                .toList();
        // All devices' copies to the root, its own too; the sum; all copies back.
        double queueUs = MxnetEngine.pushPullUs(2 * ranks + 1);
        return onEngine("parameter server", machine, profile, gradients -> {
            int[] roots = dealtOut(gradients, ranks);
            return IntStream.range(0, roots.length)
                    .mapToObj(key -> List.of(
                            new Part(stars.get(roots[key]), gradients.get(key).elements(), queueUs)))
                    .toList();
        });
    }

    /** By key, the device that it is summed up on. */
    private static int[] dealtOut(List<Gradient> gradients, int devices) {
        int[] roots = new int[gradients.size()];
        long[] load = new long[devices];
        IntStream.range(0, roots.length)
                .boxed()
                .sorted(Comparator.comparingLong(key -> -gradients.get(key).elements()))
                .forEach(key -> {
                    long least = Arrays.stream(load).min().orElseThrow();
                    int device = IntStream.range(0, devices)
                            .filter(each -> load[each] == least)
                            .findFirst()
                            .orElseThrow();
                    load[device] += gradients.get(key).elements();
                    roots[key] = device;
                });
        return roots;
    }

    /**
     * MXNet's tree store: keys of up to {@code arrayBound} elements go over the balanced tree of device 0, larger
     * ones in slices over the trees of all devices. Slices are not cut into chunks.
     *
     * @param name what to call it
     * @param arrayBound in elements
     */
    public static KeyStore trees(String name, Machine machine, Profile profile, long arrayBound) {
        int ranks = machine.size();
        ForestGenerator generator = new KernighanLin();
        LinkMatrix links = LinkMatrix.of(machine);
        CollectiveAlgorithm single = new ForestAlgorithm("single-tree", generator.generate(links, 0));
        List<CollectiveAlgorithm> each = generator
                .generate(links, IntStream.range(0, ranks).toArray())
                .trees()
                .stream()
                .<CollectiveAlgorithm>map(tree -> new ForestAlgorithm("tree", Forest.equalShares(List.of(tree))))
                .toList();
        // All devices' copies into their buffers; copies and sums up the tree; the root's copy, and copies down.
        int treeOperations = ranks + 2 * (ranks - 1) + ranks;
        double singleUs = MxnetEngine.pushPullUs(treeOperations);
        // And all devices' copies out of their buffers.
        double sliceUs = MxnetEngine.queueUs(treeOperations - 1 + ranks);
        return onEngine(
                name,
                machine,
                profile,
                gradients -> gradients.stream()
                        .map(gradient -> gradient.elements() > arrayBound
                                ? slices(gradient.elements(), each, sliceUs)
                                : List.of(new Part(single, gradient.elements(), singleUs)))
                        .toList());
    }

    private static List<Part> slices(long elements, List<CollectiveAlgorithm> trees, double queueUs) {
        int n = trees.size();
        return IntStream.range(0, n)
                .mapToObj(
                        slice -> new Part(trees.get(slice), elements * (slice + 1) / n - elements * slice / n, queueUs))
                .toList();
    }

    private static KeyStore onEngine(
            String name, Machine machine, Profile profile, Function<List<Gradient>, List<List<Part>>> chooser) {
        Network network =
                Network.ofAllLinks(machine, IntStream.range(0, machine.size()).toArray());
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
                "packed forest",
                simulator,
                CHUNK_BYTES,
                gradients -> gradients.stream()
                        .map(gradient -> List.of(new Part(packed, gradient.elements(), 0)))
                        .toList());
    }
}
