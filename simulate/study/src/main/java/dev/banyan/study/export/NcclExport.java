package dev.banyan.study.export;

import dev.banyan.export.NcclChains;
import dev.banyan.export.NcclGraph;
import dev.banyan.export.NcclSearch;
import dev.banyan.export.RcclTrees;
import dev.banyan.export.RingChannels;
import dev.banyan.schedule.type.Collective;
import dev.banyan.simulate.Profiles;
import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.study.measured.NcclRates;
import dev.banyan.study.text.Numbers;
import dev.banyan.topology.Machine;
import dev.banyan.topology.internal.peer.RefusedPairs;
import dev.banyan.trees.ring.RingSet;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The rings of a machine for NCCL and RCCL, and what to expect of them.
 *
 * @param machine the devices that take part
 * @param rings the fewest rings with the right shares
 * @param channels these rings as often as NCCL needs them to fill the links
 */
public record NcclExport(Machine machine, RingChannels rings, RingChannels channels) {
    private static final int MOST_WITH_ONE_RING = 3;

    /** Rates that differ by a smaller factor are printed as one. */
    private static final double CLOSE = 1.05;

    /** @throws IllegalStateException if no ring joins the devices */
    public static NcclExport of(ChosenMachine chosen, int mostChannels) {
        RingSet exact = RingSet.of(chosen.whole(), chosen.devices())
                .orElseThrow(() -> new IllegalStateException("no ring joins the devices of "
                        + chosen.machine().name() + ", so that there is nothing to write; let NCCL search by itself"));
        RingChannels rings = RingChannels.of(exact, mostChannels);
        return new NcclExport(chosen.machine(), rings, rings.filling(mostChannels));
    }

    /** Returns why rings are of no use here, or null. */
    public @Nullable String uselessness() {
        return channels.anyOrderIsAsGood()
                ? "every ring is as good as any other here, since all devices have the same links to the same switches"
                        + " or CPU; NCCL's own search finds as much"
                        + (channels.network().switchesReduce() && machine.size() > 2
                                ? ", and NCCL can sum in the switches"
                                : "")
                : null;
    }

    /** Returns why a graph file, which has rings and chains, is of no use here, or null. */
    public @Nullable String uselessnessOfGraph() {
        String useless = uselessness();
        return useless == null
                        && machine.size() <= MOST_WITH_ONE_RING
                        && !NcclSearch.matters(channels.network())
                        && !NcclChains.of(machine, channels).areTakenBefore(channels)
                ? machine.size() + " GPUs form a single ring, which NCCL's own search finds as well"
                : useless;
    }

    /**
     * The graph file.
     *
     * @param path where it will lie, as a shell takes it
     * @param assumed what NCCL assumes between sockets in GB/s, or null if that is not known
     */
    public ExportedText graph(String path, @Nullable Double assumed) {
        NcclGraph graph = NcclGraph.of(machine, channels);
        NcclChains chains = NcclChains.of(machine, channels);
        List<String> use = new ArrayList<>();
        use.add("export NCCL_GRAPH_FILE=" + path);
        List<String> remarks = new ArrayList<>(rates());
        boolean isThroughHost = isThroughHost();
        boolean takesChains = chains.areTakenBefore(channels);
        String level = !isThroughHost && List.of("PHB", "SYS").contains(graph.type()) ? "NCCL_P2P_LEVEL=SYS" : "";
        if (takesChains) {
            remarks.add("With this file NCCL's tuner will probably take its trees for large allreduces: by the file's"
                    + " speeds it counts "
                    + Numbers.gbs(NcclChains.EXPECTED * chains.algbw().doubleValue())
                    + " of algbw for trees, and " + Numbers.gbs(channels.algbw()) + " for rings");
            remarks.add("Its trees are chains inside a machine: by the links " + Numbers.gbs(chains.algbw())
                    + " algbw, "
                    + Numbers.gbs(chains.algbw().doubleValue() * Collective.ALL_REDUCE.busFactor(machine.size()))
                    + " busbw. Without the file the tuner counts trees no faster than rings, and takes rings; try"
                    + " NCCL_ALGO=Tree" + (level.isEmpty() ? "" : " and " + level)
                    + " without the file first, which may be as fast");
        }
        String useless = uselessnessOfGraph();
        remarks.addAll(
                useless != null
                        ? List.of("No gain of this file is to be expected: " + useless)
                        : isThroughHost
                                ? List.of(throughHost(takesChains))
                                : gain(takesChains ? chains : null, assumed, level));
        if (!level.isEmpty()) {
            use.add("export " + level + "  # only where nvidia-smi topo -p2p r shows OK for all pairs");
        }
        remarks.add(
                "A communicator over fewer or other GPUs fails (\"dev N not found\"), and the variable holds for all"
                        + " communicators of a process; devices have the numbers of nvidia-smi, which a container may"
                        + " change");
        remarks.add("To check: NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH prints \""
                + channels.orders().size() + " channels loaded from XML graph\"");
        boolean mayGain = takesChains || NcclSearch.matters(channels.network());
        return new ExportedText(
                graph.xml(),
                mayGain
                        ? use
                        : use.stream()
                                .map(line -> "# to try it all the same: " + line)
                                .toList(),
                remarks);
    }

    /**
     * The variables of RCCL.
     *
     * @param path of the file that will hold them
     */
    public ExportedText variables(String path) {
        String variable = "export NCCL_RINGS=\"" + RcclTrees.rings(machine, channels) + "\"\n";
        List<String> remarks = new ArrayList<>(rates());
        remarks.add("No gain is known: RCCL has rings of its own for the usual machines, and nobody has compared these"
                + " with them");
        remarks.add("RCCL skips rings over another number of devices than a communicator has");
        boolean inOrder = IntStream.range(0, machine.size())
                .allMatch(rank -> machine.devices().get(rank).name().equals("GPU" + rank));
        String trees = "";
        if (inOrder) {
            RcclTrees packed = RcclTrees.of(rings);
            trees = "# export RCCL_TREES=\"" + packed.value() + "\"\n";
            remarks.add("RCCL_TREES, in place of NCCL_RINGS, makes every allreduce take trees: "
                    + Numbers.gbs(packed.algbw()) + " algbw by the links, with fewer hops; rank i must be device i");
        } else {
            remarks.add("RCCL_TREES numbers ranks, so it is left out for a part of the devices or another order");
        }
        remarks.add("To check: NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH prints the rings and trees");
        return new ExportedText(variable + trees, List.of("source " + path), remarks);
    }

    private String throughHost(boolean takesChains) {
        return "Copies between GPUs without peer access go through the host's memory: "
                + (NcclSearch.matters(channels.network())
                        ? "no gain of these rings is known"
                        : "no gain of " + (takesChains ? "these rings" : "this file")
                                + " is to be expected, as NCCL's own search probably finds rings as fast within a CPU"
                                + " socket");
    }

    /** Returns how many rings the channels go around, each way counted, in words; nothing where each has its own. */
    private String around() {
        Set<List<Integer>> rings = channels.rings();
        long oneWay = rings.stream()
                .filter(ring -> {
                    List<Integer> back = RingChannels.fromFirst(ring.reversed());
                    return !rings.contains(back) || ring.equals(back);
                })
                .count();
        return rings.size() == channels.orders().size()
                ? ""
                : " around " + Numbers.count(rings.size(), "one-way ring")
                        + (oneWay > 0
                                ? ""
                                : rings.size() == 2
                                        ? " (1 and its reverse)"
                                        : " (" + rings.size() / 2 + " and their reverses)");
    }

    private List<String> rates() {
        List<String> remarks = new ArrayList<>();
        int n = machine.size();
        remarks.add(Numbers.count(channels.orders().size(), "channel") + " of " + Numbers.gbs(channels.channelGbs())
                + around()
                + " between " + n
                + " GPUs; by the links " + Numbers.gbs(channels.algbw()) + " algbw, "
                + Numbers.gbs(channels.algbw().doubleValue() * Collective.ALL_REDUCE.busFactor(n))
                + " busbw for an allreduce");
        if (channels.loss() > 0) {
            remarks.add(Numbers.format(
                    "%s of equal shares: %.1f%% less than the %s that rings of any shares carry",
                    Numbers.count(channels.orders().size(), "channel"),
                    100 * channels.loss(),
                    Numbers.gbs(channels.planned())));
        }
        return remarks;
    }

    /** @param chains those that NCCL takes in place of the rings; null if it takes the rings */
    private List<String> gain(@Nullable NcclChains chains, @Nullable Double assumed, String level) {
        List<String> remarks = new ArrayList<>();
        boolean takesChains = chains != null;
        NcclRates rates = new NcclRates(machine, Profiles.of(machine));
        double ofRings = rates.ofRings(channels.orders());
        double ofFile = chains == null ? ofRings : rates.ofChains(chains.orders());
        if (!NcclSearch.matters(channels.network())) {
            remarks.add(
                    takesChains
                            ? expected(ofFile / ofRings, true, level)
                            : "No gain of this file is to be expected: NCCL's own search probably finds rings as fast,"
                                    + " since these "
                                    + (channels.network().takesFastLinksAlone()
                                            ? "are of NVLinks alone"
                                            : "stay within a CPU socket")
                                    + "; the file fixes their number and order");
            return remarks;
        }
        List<Double> counted = assumed != null ? List.of(assumed) : NcclSearch.countedBetweenSockets(machine);
        List<NcclSearch> searches = NcclSearch.of(machine, counted);
        double most = rates.most(searches);
        double least = rates.least(searches);
        double factor = Collective.ALL_REDUCE.busFactor(machine.size());
        String byLinks = Numbers.gbs(NcclRates.linksGbs(searches));
        String gain = expected(ofFile / most, takesChains, level);
        if (most <= CLOSE * least) {
            remarks.add(Numbers.format(
                    "NCCL's own rings probably reach %.2f GB/s of algbw, %.1f of busbw, by the model of banyan predict"
                            + " (the links carry up to %s of algbw, but copies that share a link lose a part)",
                    most, most * factor, byLinks));
            remarks.add(gain);
        } else {
            remarks.add(Numbers.format(
                    "NCCL's own rings probably reach %.2f to %.2f GB/s of algbw, %.1f to %.1f of busbw: at most as in"
                            + " the model of banyan predict (the links carry up to %s of algbw, but copies that share a"
                            + " link lose a part), at least as in the only log that is known, of two AMD EPYC (15 of"
                            + " busbw, NVIDIA/nccl#2127). all_reduce_perf without the file shows what they reach",
                    least, most, least * factor, most * factor, byLinks));
            remarks.add(gain
                    + Numbers.format(
                            " if they reach %.2f, and up to %.2f times if they reach %.2f",
                            most, ofFile / least, least));
        }
        remarks.add("NCCL's log of them probably shows " + found(counted, searches, assumed == null)
                + "; this count does not limit what they carry");
        return remarks;
    }

    /**
     * Returns the channels of NCCL's own searches.
     *
     * @param counted between two sockets, in GB/s
     * @param ofCpu whether versions of NCCL count that for the CPU
     */
    private static String found(List<Double> counted, List<NcclSearch> searches, boolean ofCpu) {
        List<String> channels = searches.stream()
                .map(search -> Numbers.count(search.channels(), "channel") + " of " + Numbers.gbs(search.channelGbs()))
                .toList();
        String between = " between two NUMA nodes" + (ofCpu ? " of this CPU" : "");
        if (counted.equals(NcclSearch.ANY_CPU)) {
            return channels.stream().distinct().collect(Collectors.joining(" or "))
                    + ", as it counts 6 to 40 GB/s between two NUMA nodes, by the CPU (add lscpu's lines Vendor ID, CPU"
                    + " family and Model to the description, or state it by --nccl-socket-gbs)";
        }
        if (counted.size() == 1) {
            return channels.getFirst() + ", as it counts " + Numbers.gbs(counted.getFirst()) + between;
        }
        return channels.getFirst() + " before NCCL 2.31, and " + channels.getLast() + " from 2.31 on, as it counts "
                + Numbers.plain(counted.getFirst()) + " and " + Numbers.gbs(counted.getLast()) + between;
    }

    private static String expected(double gain, boolean byTrees, String level) {
        return Numbers.format(
                "Expected gain of large allreduces%s over NCCL's own rings%s, predicted by what copies reach of"
                        + " the links' speeds, stated or assumed,%s and not measured: %.2f times",
                byTrees ? " by the file's trees" : "",
                level.isEmpty() ? "" : " with " + level,
                byTrees
                        ? Numbers.format(
                                " less %.0f%% for trees, as NCCL's tuner counts,", 100 * (1 - NcclChains.EXPECTED))
                        : "",
                Math.max(1, gain));
    }

    /** Returns whether neighbours in a ring have no peer access. */
    private boolean isThroughHost() {
        return channels.orders().stream().anyMatch(order -> RefusedPairs.inRing(machine, order));
    }
}
