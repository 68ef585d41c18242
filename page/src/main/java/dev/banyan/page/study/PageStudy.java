package dev.banyan.page.study;

import dev.banyan.config.Config;
import dev.banyan.export.RingChannels;
import dev.banyan.page.model.Curve;
import dev.banyan.page.model.PageModel;
import dev.banyan.page.model.PageModel.SwitchModel;
import dev.banyan.page.model.Playback;
import dev.banyan.page.model.SetModel;
import dev.banyan.page.model.SetsModel;
import dev.banyan.page.model.StepModel;
import dev.banyan.schedule.internal.program.ProgramSizes;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.schedule.plan.Execution;
import dev.banyan.schedule.type.Collective;
import dev.banyan.simulate.CallBuffers;
import dev.banyan.simulate.Profile;
import dev.banyan.simulate.Profiles;
import dev.banyan.simulate.SimulatedCosts;
import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.study.machine.Limit;
import dev.banyan.study.machine.LinkRemarks;
import dev.banyan.study.machine.OtherGpus;
import dev.banyan.study.machine.SwitchRate;
import dev.banyan.study.machine.Variants;
import dev.banyan.study.text.ChoiceText;
import dev.banyan.study.workload.PredictedExecution;
import dev.banyan.study.workload.Workload;
import dev.banyan.topology.Machine;
import dev.banyan.topology.NoPeerAccess;
import dev.banyan.trees.bound.Bound;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.allreduce.AllReducePacking;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Computes all that the page of a machine shows: bounds and trees of many sets of its devices, and predictions of calls
 * on all of them by the simulator. The same input gives the same page.
 *
 * <p>It takes seconds: the packed trees of every set, with and without relays, and a simulation for each algorithm and
 * size. Not safe for use from several threads at once.
 */
public final class PageStudy {
    /** Algorithms in the order of the page. */
    private static final List<AlgorithmChoice> ALGORITHMS = List.of(
            AlgorithmChoice.PACKING,
            AlgorithmChoice.MULTI_TREE,
            AlgorithmChoice.SINGLE_TREE,
            AlgorithmChoice.RING,
            AlgorithmChoice.STAR,
            AlgorithmChoice.ONE_SHOT);

    /** A simulation takes about as long as the bounds of so many sets. */
    private static final int PARTS_OF_A_SIMULATION = 30;

    private static final List<Long> PLAYED_BYTES = List.of(64L << 10, 64L << 20);

    private final ChosenMachine chosen;
    private final Machine machine;
    private final List<AlgorithmConfig> algorithms;
    private final Config config;
    private final Profile profile;
    private final Execution execution;
    private final DeviceGroups groups;

    /**
     * @param chosen at least two devices
     * @param variants variants of the algorithms that the page shows
     * @param config what chooses algorithms beside the simulator
     * @param profile the simulator's constants
     * @param execution what executes calls
     */
    public PageStudy(ChosenMachine chosen, Variants variants, Config config, Profile profile, Execution execution) {
        machine = chosen.machine();
        if (machine.size() < 2) {
            throw new IllegalArgumentException(machine.name() + " has " + machine.size()
                    + " devices, and a page shows what at least 2 exchange; name another machine");
        }
        this.chosen = chosen;
        algorithms = ALGORITHMS.stream().map(variants::of).toList();
        this.config = config;
        this.profile = profile;
        this.execution = execution;
        groups = new DeviceGroups(machine.size());
    }

    /** Returns the sizes in bytes at which calls are predicted, ascending. */
    public static List<Long> sizes() {
        return PredictedCurves.sizes();
    }

    /**
     * Returns the number of parts of {@link #run}, for progress.
     *
     * @param models number of models whose gradients are shown
     */
    public int parts(int models) {
        int simulations = ALGORITHMS.size() + 1 + ALGORITHMS.size() * PLAYED_BYTES.size() + models;
        return groups.sets().size() + PARTS_OF_A_SIMULATION * simulations;
    }

    /**
     * Computes the model.
     *
     * @param version of Banyan
     * @param options of the command that name the whole machine, as a shell takes them
     * @param others further curves, measured or predicted, which are shown beside those of the algorithms
     * @param models gradients of models
     * @param onPart called after each part
     */
    public PageModel run(String version, String options, List<Curve> others, List<Workload> models, Runnable onPart) {
        DrawnLinks links = new DrawnLinks(machine);
        SetStudy study = new SetStudy(chosen, links, algorithms, config);
        List<SetModel> sets = new ArrayList<>();
        for (int[] devices : groups.sets()) {
            sets.add(study.of(devices));
            onPart.run();
        }
        PredictedCurves predicted = new PredictedCurves(machine, config, profile, execution);
        List<Curve> curves = new ArrayList<>();
        List<AlgorithmConfig> withAuto = Stream.concat(
                        algorithms.stream(), Stream.of(AlgorithmConfig.of(AlgorithmChoice.AUTO)))
                .toList();
        for (AlgorithmConfig algorithm : withAuto) {
            curves.add(predicted.of(algorithm));
            simulated(onPart);
        }
        String largest =
                Objects.requireNonNull(curves.getLast().points().getLast().choice(), "auto chooses");
        int ofLargest = ALGORITHMS.indexOf(AlgorithmConfig.parse(largest).algorithm());
        SimulatedCosts costs = new SimulatedCosts(machine, profile, execution);
        PredictedExecution executed = PredictedExecution.of(machine, withAuto, costs, true);
        String executors = executors(curves)
                + executed.buffers()
                + executed.remark().map(remark -> "; " + remark).orElse("");
        NcclCurve nccl = NcclCurve.of(machine, profile);
        nccl.curve().ifPresent(curves::add);
        curves.addAll(others);
        Calls calls = new Calls(machine, config, costs);
        List<Playback> playbacks = new ArrayList<>();
        for (int algorithm = 0; algorithm < algorithms.size(); algorithm++) {
            for (long bytes : PLAYED_BYTES) {
                playbacks.add(PlaybackStudy.of(algorithms.get(algorithm), algorithm, bytes, calls, links));
                simulated(onPart);
            }
        }
        GradientExchange exchange = new GradientExchange(
                calls, new SimulatedCosts(machine, profile, execution, CallBuffers.ANY), withAuto, nccl.model());
        List<StepModel> steps = new ArrayList<>();
        for (Workload gradients : models) {
            steps.add(exchange.of(gradients));
            simulated(onPart);
        }
        return new PageModel(
                version,
                links.model(chosen.assumedOfAllLinks(), LinkRemarks.onAllLinks(chosen)),
                options,
                chosen.machine().equals(chosen.whole()) ? List.of() : chosen.group(),
                algorithms.stream().map(ChoiceText::name).toList(),
                Math.max(0, ofLargest),
                new SetsModel(groups.largest(), sets),
                inSwitch(),
                RingChannels.anyOrderIsAsGood(chosen.network()),
                !NoPeerAccess.betweenAll(machine),
                Profiles.described(machine, profile) + ". " + executors
                        + OtherGpus.remark(machine).map(remark -> ". " + remark).orElse(""),
                executed.exchanging().stream().map(ChoiceText::name).toList(),
                curves,
                playbacks,
                steps,
                Stream.concat(Stream.of(nccl.note()), chosen.warnings().stream())
                        .toList());
    }

    /** Returns what executes the calls of Banyan's curves. */
    private static String executors(List<Curve> curves) {
        Set<Boolean> ranged = curves.stream()
                .flatMap(curve -> curve.points().stream())
                .map(point -> point.most() != null)
                .collect(Collectors.toSet());
        if (!ranged.contains(true)) {
            return "Times of Banyan are predicted for CUDA graphs of copies and kernels, chunk by chunk, and have no"
                    + " range";
        }
        return ranged.contains(false)
                ? "Times of Banyan without a range are of graphs of copies and kernels, chunk by chunk. Times of Banyan"
                        + " with a range are of one kernel on each GPU"
                : "Times of Banyan are of one kernel on each GPU";
    }

    private @Nullable SwitchModel inSwitch() {
        Network network = chosen.network();
        Bound forwarding = AllReducePacking.of(network).bound();
        boolean isByKernels = execution == Execution.PROGRAMS;
        return Limit.reduced(network, Collective.ALL_REDUCE, forwarding).stream()
                .findFirst()
                .map(limit -> new SwitchModel(
                        limit.algbwGBs(),
                        limit.counted(),
                        limit.certificate().sentence(),
                        isByKernels ? gbs(SwitchRate.ofPacking(network, forwarding)) : null,
                        isByKernels ? gbs(SwitchRate.ofStar(network, forwarding)) : null,
                        ProgramSizes.DEFAULT.lowLatencyBytes()))
                .orElse(null);
    }

    private static @Nullable Double gbs(Optional<SwitchRate> rate) {
        return rate.map(carried -> carried.gbs().doubleValue()).orElse(null);
    }

    private static void simulated(Runnable onPart) {
        for (int part = 0; part < PARTS_OF_A_SIMULATION; part++) {
            onPart.run();
        }
    }
}
