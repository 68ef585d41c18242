package dev.banyan.simulate.internal.nccl;

import dev.banyan.schedule.type.Collective;
import dev.banyan.simulate.Constant;
import dev.banyan.simulate.Profile;
import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;
import dev.banyan.topology.internal.peer.RefusedPairs;
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
 * <p>The model: data go over the {@linkplain RingSet rings} that the machine's links allow, both ways around, as fast
 * as the busiest link, or the slot of a device that sends and receives through the host's memory, allows, for each
 * {@link Protocol} that the profile lets NCCL use: a call takes {@code baseUs}, a hop {@code hopUs}, whatever hubs it
 * passes, and links carry {@code fraction} of what the profile says of copies. Like NCCL's tuning model ({@code
 * src/graph/tuning.cc}: latency and bandwidth of each algorithm and protocol), the fastest protocol is taken. Kernels
 * reduce while they receive, so a reduction costs nothing more.
 *
 * <p>Reduce and broadcast are chains. As nccl-tests call one after another, the next call enters the chain when the one
 * before has left its first device: a call takes one hop and its data, not the whole way down.
 *
 * <p>NCCL takes more channels for more data (its {@code src/enqueue.cc}). Where the profile has a {@code fillUs}, data
 * that take x us at full rate take {@code x fill / (x + fill)} more: twice as long while few channels are in use, and
 * at most {@code fill}, which is {@code fillUs} of each hop, or of the switch.
 *
 * <p>A process that drives several devices launches on one after the other. While it does, earlier calls go on; so
 * no call is faster than {@code nccl.launchUs} for each of its process's devices. A kernel of more channels takes
 * longer to launch: up to {@code nccl.launchFillUs} more, half of it at 128 KiB.
 *
 * <p>Where the profile lets it, the all_reduce of three or more devices with peer access around one NVSwitch may be
 * reduced in the switch ({@link Protocol#NVLS}): {@code baseUs}, and the time in which each device's link carries all
 * data and a block more each way, at {@code fraction} of its nominal bandwidth.
 *
 * <p>An allreduce may also go up and down {@linkplain #withTrees trees} of a graph file. Inside a machine these are
 * chains, so it takes as many hops as around a ring.
 *
 * <p>What it leaves out: NCCL's trees without a graph file, its kernels for registered (symmetric) memory, CollNet, and
 * what differs between its versions. Immutable and safe for use from any thread.
 */
public final class NcclRings {
    /** Kernels for so many bytes take as long to launch as the mean of those of few and of all channels. */
    private static final long HALF_OF_CHANNELS = 128 << 10;

    /** NCCL reduces in the switch for no fewer devices. */
    private static final int LEAST_DEVICES_OF_NVLS = 3;

    private final RingSet rings;
    private final Profile profile;
    /** True if some hop of the rings goes through the host's memory. */
    private final boolean throughHost;
    /** The time of each byte of a call in us, where links carry all that copies do. */
    private final Map<Collective, Double> usPerByte = new EnumMap<>(Collective.class);
    /** The same of the links alone, as if both ways through the host's memory were as fast at once as alone. */
    private final Map<Collective, Double> linkUsPerByte = new EnumMap<>(Collective.class);

    /** Bandwidth to a switch that reduces, each way of a device, in GB/s; 0 where NCCL uses none. */
    private final double switchGbs;

    /** The time of each byte of an allreduce over trees in us, if there are any, where links are as full as rings'. */
    private final double treesUsPerByte;
    /** The same of the links alone. */
    private final double treesLinkUsPerByte;

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
        Machine links = transport == Transport.HOST ? throughHost(machine) : machine;
        int[] all = IntStream.range(0, links.size()).toArray();
        rings = RingSet.of(links, all)
                .orElseThrow(() -> new IllegalArgumentException("no ring joins the devices of " + machine.name()));
        // Around an NVSwitch another order of the ring avoids the pairs without peer access.
        throughHost = transport == Transport.HOST
                || (!rings.network().takesFastLinksAlone()
                        && rings.rings().stream().anyMatch(ring -> RefusedPairs.inRing(machine, ring.order())));
        if (transport == Transport.HOST && !passesSockets(rings.network())) {
            throw new IllegalArgumentException(machine.name()
                    + " describes no path from each device to the host's memory; describe its PCIe switches and CPU"
                    + " sockets");
        }
        for (Collective collective : Collective.values()) {
            RingTraffic traffic = RingTraffic.of(rings, collective, 0);
            usPerByte.put(collective, traffic.usPerByte(profile));
            linkUsPerByte.put(collective, traffic.linkUsPerByte(profile));
        }
        switchGbs = transport == Transport.HOST
                        || machine.size() < LEAST_DEVICES_OF_NVLS
                        || !isUsed(Protocol.NVLS)
                        || RefusedPairs.any(machine)
                ? 0
                : leastToSwitch(machine);
        treesUsPerByte = Double.POSITIVE_INFINITY;
        treesLinkUsPerByte = Double.POSITIVE_INFINITY;
        if (Protocol.OF_RINGS.stream().noneMatch(this::isUsed)) {
            throw new IllegalArgumentException("profile " + profile.name() + " lets NCCL use no protocol; give "
                    + Protocol.SIMPLE.fraction().key() + " a value above 0");
        }
    }

    private NcclRings(NcclRings withoutTrees, List<List<Integer>> chains, double fraction) {
        profile = withoutTrees.profile;
        rings = withoutTrees.rings;
        throughHost = withoutTrees.throughHost;
        usPerByte.putAll(withoutTrees.usPerByte);
        linkUsPerByte.putAll(withoutTrees.linkUsPerByte);
        switchGbs = withoutTrees.switchGbs;
        RingTraffic traffic = RingTraffic.ofChains(rings.network(), chains);
        treesUsPerByte = traffic.usPerByte(profile) / fraction;
        treesLinkUsPerByte = traffic.linkUsPerByte(profile);
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

    /**
     * Returns NCCL with trees of a graph file beside its rings, of which it takes the faster for each allreduce.
     *
     * @param chains ranks of each tree from its root on; each carries an equal share
     * @param fraction what trees reach of the rate at which rings would fill the same links, above 0 and at most 1
     */
    public NcclRings withTrees(List<List<Integer>> chains, double fraction) {
        return new NcclRings(this, chains, fraction);
    }

    /** Returns whether data of some hops go through the host's memory. */
    public boolean goThroughHost() {
        return throughHost;
    }

    /** Returns a machine as devices without peer access see it. */
    private static Machine throughHost(Machine machine) {
        RefusedPairs all = new RefusedPairs(machine.size());
        for (int a = 0; a < machine.size(); a++) {
            for (int b = 0; b < a; b++) {
                all.add(a, b);
            }
        }
        return new Machine(
                machine.name(),
                all.mark(machine.devices()),
                machine.hubs(),
                all.usable(machine.links()),
                List.of(),
                machine.warnings());
    }

    /** Returns whether data pass CPU sockets that the machine describes. */
    private static boolean passesSockets(Network network) {
        List<Network.Kind> kinds = IntStream.range(0, network.nodes())
                .mapToObj(node -> network.node(node).kind())
                .toList();
        return kinds.contains(Network.Kind.SOCKET) && !kinds.contains(Network.Kind.HOST);
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

    private boolean isUsed(Protocol protocol) {
        return profile.get(protocol.fraction()) > 0;
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
        Protocol fastest = Protocol.SIMPLE;
        double least = Double.POSITIVE_INFINITY;
        for (Protocol protocol : Protocol.OF_RINGS) {
            double us = isUsed(protocol)
                    ? overLinks(protocol, collective, bytes * Objects.requireNonNull(usPerByte.get(collective)))
                    : Double.POSITIVE_INFINITY;
            if (us < least) {
                least = us;
                fastest = protocol;
            }
        }
        if (takesTrees(collective)) {
            double us = overLinks(Protocol.TREES, collective, bytes * treesUsPerByte);
            fastest = us < least ? Protocol.TREES : fastest;
            least = Math.min(us, least);
        }
        if (addsInSwitch(collective)) {
            double dataUs = throughSwitchUs(bytes) / profile.get(Protocol.NVLS.fraction());
            double us = profile.get(Protocol.NVLS.baseUs()) + filled(dataUs, Protocol.NVLS.fillUs(profile));
            fastest = us < least ? Protocol.NVLS : fastest;
            least = Math.min(us, least);
        }
        double hostUs = devicesPerProcess
                * (profile.get(Constant.NCCL_LAUNCH_US)
                        + profile.get(Constant.NCCL_LAUNCH_FILL_US) * bytes / (bytes + HALF_OF_CHANNELS));
        return new Timing(Math.max(least, hostUs), fastest, hostUs > least);
    }

    /**
     * Returns what the links alone need for a call that NCCL carries out, in us: no call is faster.
     *
     * @param bytes as for {@link #time}
     */
    public double leastUs(Collective collective, long bytes) {
        double aroundRings = bytes * Objects.requireNonNull(linkUsPerByte.get(collective));
        double overLinks = takesTrees(collective) ? Math.min(aroundRings, bytes * treesLinkUsPerByte) : aroundRings;
        return addsInSwitch(collective) ? Math.min(overLinks, throughSwitchUs(bytes)) : overLinks;
    }

    private boolean takesTrees(Collective collective) {
        return collective == Collective.ALL_REDUCE
                && isUsed(Protocol.TREES)
                && treesUsPerByte < Double.POSITIVE_INFINITY;
    }

    /** Returns whether some calls may be sums in a switch. */
    public boolean addsInSwitch(Collective collective) {
        return collective == Collective.ALL_REDUCE && switchGbs > 0;
    }

    /** Returns the algbw at which links carry an allreduce that the switch adds up, in GB/s; 0 where NCCL has none. */
    public double switchRateGbs() {
        return switchGbs > 0 ? 1e-3 / throughSwitchUs(1) : 0;
    }

    /** Returns the time of the data of an allreduce that the switch adds up, where links carry all that they can. */
    private double throughSwitchUs(long bytes) {
        return bytes * (1 + 1.0 / rings.network().ranks()) / switchGbs / 1e3;
    }

    /**
     * @param fullUs the time of the data where links carry all that copies do
     */
    private double overLinks(Protocol protocol, Collective collective, double fullUs) {
        int n = rings.network().ranks();
        int hops = collective.hasRoot() ? 1 : (n - 1) * (collective == Collective.ALL_REDUCE ? 2 : 1);
        double dataUs = fullUs / profile.get(protocol.fraction());
        return profile.get(protocol.baseUs())
                + hops * profile.get(protocol.hopUs())
                + filled(dataUs, hops * protocol.fillUs(profile));
    }

    /** Returns the time of data while NCCL takes more channels for more data. */
    private static double filled(double us, double fillUs) {
        return fillUs > 0 ? us + us * fillUs / (us + fillUs) : us;
    }
}
