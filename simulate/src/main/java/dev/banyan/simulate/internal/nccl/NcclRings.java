package dev.banyan.simulate.internal.nccl;

import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.internal.algorithm.CollectiveRequest;
import dev.banyan.schedule.type.Collective;
import dev.banyan.simulate.Constant;
import dev.banyan.simulate.Profile;
import dev.banyan.simulate.Simulator;
import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.ring.RingSet;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.IntStream;

/**
 * Predicts the collectives of NCCL over its rings: what its users measure with nccl-tests, and what Banyan's own
 * algorithms compete with.
 *
 * <p>The model: data go over the {@linkplain RingSet rings} that the machine's links allow, both ways around. The
 * {@linkplain dev.banyan.schedule.internal.algorithm.RingAlgorithm ring schedule} is run by the {@link Simulator},
 * once for
 * each {@link Protocol} that the profile lets NCCL use, with the protocol's constants in place of those of copies: a
 * call takes {@code baseUs}, a hop {@code hopUs}, whatever hubs it passes, and links carry {@code fraction} of what the
 * profile says of them. Like NCCL's tuning model ({@code src/graph/tuning.cc}: latency and bandwidth of each algorithm
 * and protocol), the fastest protocol is taken. Kernels reduce while they receive, so a reduction costs nothing more.
 *
 * <p>Reduce and broadcast are chains. As nccl-tests call one after another, the next call enters the chain when
 * the one before has left its first device: a call is taken to cost {@code baseUs}, a hop, and what the simulated
 * chain takes for twice the data less what it takes for them, not the whole way down.
 *
 * <p>A process that drives several devices launches on one after the other. While it does, earlier calls go on; so
 * no call is faster than {@code nccl.launchUs} for each of its process's devices.
 *
 * <p>Where the profile lets it, the all_reduce of three or more devices around one NVSwitch may be reduced in the
 * switch ({@link Protocol#NVLS}): {@code baseUs}, and the time in which each device's link carries all data and a block
 * more each way, at {@code fraction} of its nominal bandwidth.
 *
 * <p>What it leaves out: NCCL's trees, its choice of fewer channels and threads for small data, its kernels for
 * registered (symmetric) memory, CollNet, and what differs between its versions. Immutable and safe for use from any
 * thread. A call simulates up
 * to three schedules: milliseconds.
 */
public final class NcclRings {
    private static final int ELEMENT_BYTES = 4;
    /** Pieces of the data of a chain: more than it has hops, so that all of its links are busy. */
    private static final int PIECES = 32;

    private static final double NO_LIMIT = 1e6;
    /** NCCL reduces in the switch for no fewer devices. */
    private static final int LEAST_DEVICES_OF_NVLS = 3;

    private final RingSet rings;
    private final Profile profile;
    private final Transport transport;
    private final Map<Protocol, Simulator> bothWays;
    private final Map<Protocol, Simulator> oneWay;
    /** Rate of a switch that reduces, each way of a device, in GB/s; 0 where NCCL uses none. */
    private final double switchGbs;

    /**
     * The time of a call.
     *
     * @param us time of one call among many, as nccl-tests measure it, in us
     * @param protocol the one that is fastest
     * @param hostBound whether the launches take longer than what they launch
     */
    public record Timing(double us, Protocol protocol, boolean hostBound) {}

    private NcclRings(Machine machine, Profile profile, Transport transport) {
        this.profile = profile;
        this.transport = transport;
        Machine links = transport == Transport.HOST ? HostStaging.of(machine) : machine;
        int[] all = IntStream.range(0, links.size()).toArray();
        rings = RingSet.of(links, all)
                .orElseThrow(() -> new IllegalArgumentException("no ring joins the devices of " + machine.name()));
        bothWays = new EnumMap<>(Protocol.class);
        oneWay = new EnumMap<>(Protocol.class);
        switchGbs = transport == Transport.HOST || machine.size() < LEAST_DEVICES_OF_NVLS
                ? 0
                : profile.get(Protocol.NVLS.fraction()) * leastToSwitch(machine);
        for (Protocol protocol : Protocol.OF_RINGS) {
            if (profile.get(protocol.fraction()) > 0) {
                Machine timed = withHops(links, profile.get(protocol.hopUs()));
                Network network = rings.network().joinedByNvlink() ? Network.of(timed) : Network.ofAllLinks(timed, all);
                double fraction = profile.get(protocol.fraction());
                oneWay.put(protocol, simulator(network, protocol, fraction));
                bothWays.put(protocol, simulator(network, protocol, fraction * duplex()));
            }
        }
        if (bothWays.isEmpty()) {
            throw new IllegalArgumentException("profile " + profile.name() + " lets NCCL use no protocol; give "
                    + Protocol.SIMPLE.fraction().key() + " a value above 0");
        }
    }

    /**
     * NCCL on all devices of a machine.
     *
     * @param machine at least two devices
     * @param profile its constants
     * @param transport what pairs without NVLink have; {@link Transport#HOST} leaves NVLink out altogether
     * @throws IllegalArgumentException if the machine has too few devices or no ring, or its description has no path
     *     to the host's memory, or the profile excludes every protocol
     */
    public static NcclRings of(Machine machine, Profile profile, Transport transport) {
        Objects.requireNonNull(profile, "profile");
        return new NcclRings(machine, profile, Objects.requireNonNull(transport, "transport"));
    }

    /** The rings that data go over. */
    public RingSet rings() {
        return rings;
    }

    /** Returns the bandwidth of the device that has least to an NVSwitch, in GB/s; 0 if one has none. */
    private static double leastToSwitch(Machine machine) {
        return IntStream.range(0, machine.size())
                .mapToDouble(device -> machine.links().stream()
                        .filter(link -> link.kind() == Link.Kind.NVLINK
                                && Math.min(link.a(), link.b()) == device
                                && Math.max(link.a(), link.b()) >= machine.size())
                        .mapToDouble(link -> Math.min(link.gbsAToB(), link.gbsBToA()))
                        .sum())
                .min()
                .orElse(0);
    }

    private double duplex() {
        return transport == Transport.HOST ? profile.get(Constant.HOST_DUPLEX) : 1;
    }

    /** The same links with all of a hop's latency on the links of its two devices. */
    private static Machine withHops(Machine machine, double hopUs) {
        List<Link> links = machine.links().stream()
                .map(link -> {
                    int ends = (link.a() < machine.size() ? 1 : 0) + (link.b() < machine.size() ? 1 : 0);
                    return new Link(
                            link.a(),
                            link.b(),
                            link.kind(),
                            link.lanes(),
                            link.gbsAToB(),
                            link.gbsBToA(),
                            hopUs * ends / 2);
                })
                .toList();
        return new Machine(
                machine.name(), machine.devices(), machine.hubs(), links, machine.nics(), machine.warnings());
    }

    private Simulator simulator(Network network, Protocol protocol, double fraction) {
        String why = "as " + protocol.label() + " has it";
        Profile kernels = profile.with(Constant.NVLINK_HOP_US, 0, why)
                .with(Constant.XGMI_HOP_US, 0, why)
                .with(Constant.PCIE_HOP_US, 0, why)
                .with(Constant.SOCKET_HOP_US, 0, why)
                .with(Constant.REDUCE_GBS, NO_LIMIT, why)
                .with(Constant.KERNEL_US, 0, why)
                .with(Constant.LAUNCH_US, 0, why)
                .with(Constant.ISSUE_US, 0, why)
                .with(Constant.COLLECTIVE_US, profile.get(protocol.baseUs()), why)
                .with(Constant.COPY_ENGINES, NO_LIMIT, why);
        for (Constant efficiency : List.of(
                Constant.NVLINK_EFFICIENCY,
                Constant.XGMI_EFFICIENCY,
                Constant.PCIE_EFFICIENCY,
                Constant.SOCKET_EFFICIENCY)) {
            kernels = kernels.with(efficiency, Math.min(1.5, profile.get(efficiency) * fraction), why);
        }
        return new Simulator(network, List.of(), kernels);
    }

    /**
     * Time of one call.
     *
     * @param bytes size as nccl-tests print it: of all data, for all_gather and reduce_scatter of all blocks
     *     together
     * @param devicesPerProcess how many devices the process launches on that has most of them, at least 1
     * @throws IllegalArgumentException if a number makes no sense
     */
    public Timing time(Collective collective, long bytes, int devicesPerProcess) {
        int n = rings.network().ranks();
        if (bytes < 0 || devicesPerProcess < 1 || devicesPerProcess > n) {
            throw new IllegalArgumentException(bytes + " bytes, " + devicesPerProcess + " devices per process of " + n
                    + "; sizes are at least 0 and processes have 1 to " + n + " devices");
        }
        Map<Protocol, Simulator> simulators = collective.hasRoot() && n == 2 ? oneWay : bothWays;
        Protocol fastest = Protocol.SIMPLE;
        double least = Double.POSITIVE_INFINITY;
        for (Map.Entry<Protocol, Simulator> entry : simulators.entrySet()) {
            double us = collective.hasRoot()
                    ? chained(entry.getValue(), entry.getKey(), collective, bytes)
                    : entry.getValue().run(unrooted(collective, bytes)).endUs();
            if (us < least) {
                least = us;
                fastest = entry.getKey();
            }
        }
        if (collective == Collective.ALL_REDUCE && switchGbs > 0) {
            double us = profile.get(Protocol.NVLS.baseUs()) + bytes * (1 + 1.0 / n) / switchGbs / 1e3;
            fastest = us < least ? Protocol.NVLS : fastest;
            least = Math.min(us, least);
        }
        double hostUs = profile.get(Constant.NCCL_LAUNCH_US) * devicesPerProcess;
        return new Timing(Math.max(least, hostUs), fastest, hostUs > least);
    }

    /** Returns the time of a full chain for further data, beside the start of the call and one hop. */
    private double chained(Simulator simulator, Protocol protocol, Collective collective, long bytes) {
        long count = Math.ceilDiv(bytes, (long) ELEMENT_BYTES);
        long chunk = Math.max(1, count / PIECES) * ELEMENT_BYTES;
        double once = simulator.run(schedule(collective, 0, count, chunk)).endUs();
        double twice = simulator.run(schedule(collective, 0, 2 * count, chunk)).endUs();
        return profile.get(protocol.baseUs()) + profile.get(protocol.hopUs()) + twice - once;
    }

    private Schedule unrooted(Collective collective, long bytes) {
        int n = rings.network().ranks();
        long elements = Math.ceilDiv(bytes, (long) ELEMENT_BYTES);
        long count = collective == Collective.ALL_REDUCE ? elements : Math.ceilDiv(elements, (long) n);
        return schedule(collective, -1, count, Long.MAX_VALUE);
    }

    private Schedule schedule(Collective collective, int root, long count, long chunkBytes) {
        return new RingsAlgorithm(rings)
                .schedule(new CollectiveRequest(collective, root, count, ELEMENT_BYTES, false, chunkBytes));
    }
}
