package dev.banyan.export;

import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;
import dev.banyan.topology.internal.speed.CpuModel;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.ring.RingSet;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * A model of the rings that NCCL's own search probably finds: the best rings on the links as NCCL counts them, in
 * channels of the speeds that NCCL tries. NCCL counts PCIe as Banyan does, and between sockets a constant per CPU
 * family ({@code src/graph/topo.h}, 2.31: 6 to 40 GB/s), which may be far from the truth. On two Zen 5 sockets with
 * eight GPUs the model gives two channels of 15 GB/s, as NCCL's log does (NVIDIA/nccl#2127).
 *
 * @param channels number of rings, each one way around
 * @param channelGbs the speed that NCCL counts for each, in GB/s
 * @param rings the rings, with what the machine's links carry over them
 */
public record NcclSearch(int channels, double channelGbs, RingChannels rings) {
    /** The least and the greatest bandwidth that NCCL counts between two sockets, in GB/s. */
    public static final List<Double> ANY_CPU = List.of(6.0, 40.0);

    /** GB/s that a channel and its copy carry at least where links allow it, as in the log of NVIDIA/nccl#2127. */
    private static final double LEAST_OF_A_CHANNEL = 15;

    /** Across sockets NCCL finds a ring each way at most. */
    private static final int MOST_CHANNELS = 2;

    private static final List<Double> SPEEDS =
            List.of(60.0, 50.0, 40.0, 30.0, 24.0, 20.0, 15.0, 12.0, 10.0, 9.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.4, 1.2);

    /** Returns whether rings cross from one socket to another, where NCCL's count may be far off. */
    public static boolean matters(Network network) {
        return network.has(Link.Kind.SOCKET);
    }

    /**
     * Returns what versions of NCCL count between two sockets of a machine in GB/s, or {@link #ANY_CPU} if its CPU is
     * not known.
     */
    public static List<Double> countedBetweenSockets(Machine machine) {
        List<Double> ofCpu = Stream.of(CpuModel.formerSocketGbs(machine), CpuModel.socketGbs(machine))
                .flatMap(gbs -> gbs.stream().boxed())
                .distinct()
                .toList();
        return ofCpu.isEmpty() ? ANY_CPU : ofCpu;
    }

    /**
     * Models the search over all devices of a machine.
     *
     * @param socketGbs bandwidths between sockets that NCCL may assume, in GB/s one way
     * @return a search for each of them; empty if no ring joins the devices
     */
    public static List<NcclSearch> of(Machine machine, List<Double> socketGbs) {
        int[] all = IntStream.range(0, machine.size()).toArray();
        Optional<RingSet> real = RingSet.of(machine, all);
        return real.isEmpty()
                ? List.of()
                : socketGbs.stream()
                        .flatMap(gbs -> RingSet.of(counted(machine, gbs), all).stream())
                        .map(rings -> of(rings, real.get()))
                        .toList();
    }

    /** Returns a machine as NCCL counts its links. */
    private static Machine counted(Machine machine, double socketGbs) {
        return new Machine(
                machine.name(),
                machine.devices(),
                machine.hubs(),
                machine.links().stream()
                        .map(link -> link.kind() == Link.Kind.SOCKET
                                ? new Link(
                                        link.a(),
                                        link.b(),
                                        link.kind(),
                                        link.lanes(),
                                        socketGbs,
                                        socketGbs,
                                        link.latencyUs())
                                : link)
                        .toList(),
                machine.nics(),
                machine.warnings());
    }

    private static NcclSearch of(RingSet counted, RingSet real) {
        int n = counted.network().ranks();
        double factor = 2.0 * (n - 1) / n;
        double whole = counted.rateGbs().doubleValue() * factor;
        double speed = 0;
        int channels = 0;
        for (double candidate : SPEEDS) {
            int fit = (int) Math.min(MOST_CHANNELS, whole / candidate + 1e-9);
            // NCCL takes a ring each way rather than one of twice the speed where their sums are equal.
            if (fit * candidate > channels * speed || (fit * candidate == channels * speed && channels == 1)) {
                speed = candidate;
                channels = fit;
            }
        }
        List<List<Integer>> orders =
                RingChannels.of(counted, NcclLimits.ANY.channels()).orders();
        return new NcclSearch(channels, speed, RingChannels.rated(real.network(), orders));
    }

    /** Returns the busbw that a single channel carries where links allow it, in GB/s. */
    public double leastOfAChannelGbs() {
        return Math.max(channelGbs, LEAST_OF_A_CHANNEL);
    }
}
