package dev.banyan.study.measured;

import dev.banyan.export.NcclChains;
import dev.banyan.export.NcclLimits;
import dev.banyan.export.NcclSearch;
import dev.banyan.export.RingChannels;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.simulate.Constant;
import dev.banyan.simulate.Profile;
import dev.banyan.simulate.Profiles;
import dev.banyan.simulate.RangedCosts.TimeRange;
import dev.banyan.simulate.internal.nccl.NcclRings;
import dev.banyan.simulate.internal.nccl.Protocol;
import dev.banyan.simulate.internal.nccl.Transport;
import dev.banyan.study.text.ChoiceText;
import dev.banyan.study.text.Numbers;
import dev.banyan.study.workload.PredictedCall;
import dev.banyan.study.workload.Workload;
import dev.banyan.topology.Machine;
import dev.banyan.topology.internal.peer.RefusedPairs;
import dev.banyan.topology.internal.text.LinkNames;
import dev.banyan.trees.ring.RingSet;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** NCCL in the simulator, with a process for each device: what Banyan's predictions are set beside. */
public final class SimulatedNccl {
    private static final long GIB = 1L << 30;

    private final Machine machine;
    private final NcclRings rings;
    /** Trees of the exported file that NCCL's tuner probably takes for large allreduces, if it does. */
    private final Optional<NcclChains> trees;
    /** The rings that NCCL probably finds itself, where they may be slower than those of the exported file. */
    private final Optional<OwnRings> ownRings;

    private final Profile profile;
    private final Transport transport;
    /** Says what makes published errors no errors of this model; empty if they are. */
    private final String whyNoRange;

    /**
     * @param machine at least two devices, all of which take part
     * @param profile the constants
     * @throws IllegalArgumentException if no ring joins the devices
     */
    public SimulatedNccl(Machine machine, Profile profile) {
        this(
                machine,
                profile,
                profile,
                Profiles.isOf(machine, profile)
                        ? Profiles.difference(machine)
                                .map(of -> "these constants are of " + of)
                                .orElse("")
                        : "the profile is not the one that Banyan takes for such a machine");
    }

    private SimulatedNccl(Machine machine, Profile profile, Profile ofRings, String whyNoRange) {
        this.machine = machine;
        this.profile = profile;
        this.whyNoRange = whyNoRange;
        transport = transport(machine);
        NcclRings alone = NcclRings.of(machine, ofRings, transport);
        boolean goesPeerToPeer = !LinkNames.isOfAmd(machine) && !alone.goThroughHost();
        trees = goesPeerToPeer && !alone.rings().network().takesFastLinksAlone()
                ? trees(machine, alone.rings())
                : Optional.empty();
        ownRings = goesPeerToPeer && NcclSearch.matters(alone.rings().network())
                ? Optional.of(OwnRings.of(machine, profile))
                : Optional.empty();
        rings = trees.map(chains -> alone.withTrees(chains.orders(), NcclChains.EXPECTED))
                .orElse(alone);
    }

    private static Optional<NcclChains> trees(Machine machine, RingSet rings) {
        RingChannels file = RingChannels.of(rings, NcclLimits.ANY.channels());
        return Optional.of(NcclChains.of(machine, file)).filter(chains -> chains.areTakenBefore(file));
    }

    /** Returns the model of calls with such elements: without the switch where NCCL lets it not combine these. */
    public SimulatedNccl of(DataType type, ReduceOp op) {
        return rings.switchRateGbs() == 0 || combinesInSwitch(type, op)
                ? this
                : new SimulatedNccl(
                        machine,
                        profile,
                        profile.with(
                                Constant.NCCL_NVLS_FRACTION, 0, "NCCL does not combine such elements in the switch"),
                        "the sweeps are of sums of floats, which the switch combines");
    }

    /** Source: ncclNvlsSupported of NCCL's src/include/device.h. */
    private static boolean combinesInSwitch(DataType type, ReduceOp op) {
        return switch (type) {
            case F32, F64 -> op == ReduceOp.SUM;
            case F16, BF16, I32, I64 -> op == ReduceOp.SUM || op == ReduceOp.MIN || op == ReduceOp.MAX;
            case I8, U8 -> false;
        };
    }

    /**
     * Returns the model of a machine of a class of which published measurements say how far the model is off.
     *
     * @throws IllegalArgumentException if there are none, or no ring joins the devices
     */
    public static SimulatedNccl compared(Machine machine, Profile profile) {
        if (!NcclErrors.isKnown(profile)) {
            throw new IllegalArgumentException("no published sweep of the class of profile " + profile.name()
                    + " says how far a model of NCCL is off; 'banyan validate' sets one beside a sweep of your own");
        }
        return new SimulatedNccl(machine, profile);
    }

    /** Without NVLink, NCCL sends through the host's memory where the driver refuses a pair peer access. */
    static Transport transport(Machine machine) {
        return hasNoFastLinks(machine) && RefusedPairs.any(machine) ? Transport.HOST : Transport.PEER;
    }

    /** Returns whether neither NVLink nor xGMI joins any devices. */
    static boolean hasNoFastLinks(Machine machine) {
        return machine.links().stream().noneMatch(link -> link.kind().isNvLinkClass());
    }

    /**
     * Predicts a call.
     *
     * @param bytes its size as nccl-tests print it
     */
    public NcclRings.Timing time(Collective collective, long bytes) {
        return rings.time(collective, bytes, 1);
    }

    /**
     * Predicts a call with its range.
     *
     * @param bytes its size as nccl-tests print it
     */
    public PredictedCall call(Collective collective, long bytes) {
        NcclRings.Timing timing = time(collective, bytes);
        return new PredictedCall(
                timing.us(), choice(timing), range(timing, collective, bytes).orElse(null));
    }

    /** Predicts the allreduces of a model's gradients, of which each waits for the one before, in us. */
    public double oneByOneUs(Workload gradients) {
        return gradients.elements().stream()
                .mapToDouble(count -> time(Collective.ALL_REDUCE, count * DataType.F32.bytes())
                        .us())
                .sum();
    }

    /**
     * Returns the times that a call could take by the worst error of its class, as far as that is known.
     *
     * @param bytes its size as nccl-tests print it
     */
    public Optional<TimeRange> range(Collective collective, long bytes) {
        return range(time(collective, bytes), collective, bytes);
    }

    private Optional<TimeRange> range(NcclRings.Timing timing, Collective collective, long bytes) {
        return whyNoRange.isEmpty() && hasRingsOfItsClass()
                ? NcclErrors.range(
                        profile, collective, machine.size(), timing.us(), bytes, rings.leastUs(collective, bytes))
                : Optional.empty();
    }

    /**
     * Returns whether rings go over what those of published sweeps do: NVLink or xGMI alone where there are any, else
     * the host's memory.
     */
    private boolean hasRingsOfItsClass() {
        return transport == Transport.HOST || rings.rings().network().takesFastLinksAlone();
    }

    /**
     * Returns what carries a predicted call, as reports name it, e.g. {@code nccl/LL128}. LL and LL128 are named
     * together if no sweep shows them apart. The name has no protocol if no sweep shows any two apart.
     */
    private String choice(NcclRings.Timing timing) {
        String protocol = timing.protocol().label();
        if (profile.get(Constant.NCCL_LL_FRACTION) == 0) {
            boolean isLl128Apart = profile.get(Constant.NCCL_LL128_FRACTION) > 0;
            if (timing.protocol() == Protocol.LL128) {
                protocol = "LL or LL128";
            } else if (timing.protocol() == Protocol.SIMPLE && !isLl128Apart) {
                return AlgorithmChoice.NCCL.label();
            }
        }
        return AlgorithmChoice.NCCL.label() + "/" + protocol;
    }

    /** Returns the algbw in GB/s at which the links alone carry a large allreduce. */
    public double linkRateGbs() {
        return switch (time(Collective.ALL_REDUCE, GIB).protocol()) {
            case NVLS -> rings.switchRateGbs();
            case TREES -> trees.orElseThrow().algbw().doubleValue();
            case LL, LL128, SIMPLE -> rings.rings().rateGbs().doubleValue();
        };
    }

    /**
     * Returns whether a range of a call begins at {@link #fullRate}.
     *
     * @param bytes its size as nccl-tests print it
     */
    public boolean isCut(TimeRange range, Collective collective, long bytes) {
        return range.leastUs() <= rings.leastUs(collective, bytes);
    }

    /** Returns the algbw that no range exceeds, in words. */
    public String fullRate(Collective collective) {
        return Numbers.gbs(GIB / rings.leastUs(collective, GIB) / 1e3)
                + " of algbw, what copies reach of these links by the profile's constants"
                + (rings.goThroughHost() ? ", if both ways at once are as fast as one alone" : "");
    }

    /** Returns whether switches that reduce carry a large allreduce. */
    public boolean goesThroughSwitch() {
        return time(Collective.ALL_REDUCE, GIB).protocol() == Protocol.NVLS;
    }

    /** Returns that it models NCCL with an exported file; nothing where NCCL needs none. */
    public Optional<String> setUp() {
        return ownRings.isPresent() || trees.isPresent() ? Optional.of("exported file") : Optional.empty();
    }

    /** Returns the name of its rows. */
    public String name() {
        return ChoiceText.name(AlgorithmChoice.NCCL.label(), setUp().orElse(null));
    }

    /**
     * The algbw of a large allreduce over rings that NCCL finds itself.
     *
     * @param linksGbs what the links carry, in GB/s
     * @param reached what NCCL reaches, in words
     */
    public record OwnRings(double linksGbs, String reached) {
        private static OwnRings of(Machine machine, Profile profile) {
            List<NcclSearch> found = NcclSearch.of(machine, NcclSearch.countedBetweenSockets(machine));
            return new OwnRings(NcclRates.linksGbs(found), new NcclRates(machine, profile).range(found));
        }
    }

    /** Returns the rings that NCCL probably finds without the exported file; nothing where it needs none. */
    public Optional<OwnRings> ownRings() {
        return ownRings;
    }

    /** Returns how its times of a collective come about and how far they can be trusted, in one line. */
    public String remark(Collective collective) {
        return String.join(". ", remarks(collective));
    }

    /** Returns whether the constants are of an NCCL before LL128, which goes over NVLink alone. */
    private boolean lacksLl128(boolean isRccl) {
        return !isRccl
                && rings.rings().network().takesFastLinksAlone()
                && profile.get(Constant.NCCL_LL128_FRACTION) == 0;
    }

    /** Returns the same as sentences without full stops. */
    public List<String> remarks(Collective collective) {
        boolean isRccl = LinkNames.isOfAmd(machine);
        boolean takesFile = setUp().isPresent();
        boolean takesTrees = trees.isPresent() && collective == Collective.ALL_REDUCE;
        String noRange = whyNoRange.isEmpty() && !hasRingsOfItsClass()
                ? "here NCCL goes "
                        + (rings.goThroughHost()
                                ? "over NVLinks and through the host's memory"
                                : "peer to peer over PCIe")
                        + ", as it did in none of the sweeps"
                : whyNoRange;
        List<String> remarks = new ArrayList<>();
        remarks.add(name()
                + (takesFile
                        ? ": a model of NCCL with a file of banyan export and its two settings (NCCL_GRAPH_FILE,"
                                + " NCCL_P2P_LEVEL=SYS)"
                        : ": simulated rings and protocols of " + (isRccl ? "RCCL by the model of NCCL" : "NCCL"))
                + (rings.addsInSwitch(collective) ? " and its sums in the switch (NVLS)" : "")
                + (takesTrees
                        ? ""
                        : ", without its trees" + (lacksLl128(isRccl) ? " and LL128 (NCCL 2.5 and later)" : ""))
                + ", profile " + profile.name() + ", a process for each GPU");
        if (takesTrees) {
            remarks.add("For large calls it takes the file's trees, which carry "
                    + Numbers.gbs(trees.orElseThrow().algbw()) + " of algbw by the links, where rings carry "
                    + Numbers.gbs(rings.rings().rateGbs())
                    + Numbers.format(
                            "; of the trees' rate it takes %.0f%% off, as NCCL's tuner does; nobody has measured that"
                                    + " here",
                            100 * (1 - NcclChains.EXPECTED)));
        }
        if (takesFile) {
            remarks.add("Without the file NCCL takes "
                    + ownRings.filter(_ -> collective == Collective.ALL_REDUCE)
                            .map(own -> "rings of its own, at probably " + own.reached()
                                    + " of algbw in large calls (banyan export says why, and what the file gains)")
                            .orElse(ownRings.isPresent() ? "rings of its own" : "rings")
                    + (takesTrees ? ", or trees by NCCL_ALGO=Tree, which may be as fast as those of the file" : "")
                    + "; without NCCL_P2P_LEVEL=SYS it may go through the host's memory");
        }
        remarks.add(
                noRange.isEmpty()
                        ? NcclErrors.sentence(profile, collective, machine.size())
                        : "No range is known, since " + noRange);
        return remarks;
    }
}
