package dev.banyan.cli.bench;

import dev.banyan.cli.bench.call.Call;
import dev.banyan.cli.bench.call.Measurement;
import dev.banyan.cli.bench.report.NcclTable;
import dev.banyan.cli.bench.report.Reporter;
import dev.banyan.cli.bench.report.Row;
import dev.banyan.cli.bench.report.Rows;
import dev.banyan.cli.bench.report.Summary;
import dev.banyan.cli.bench.workload.WorkloadRow;
import dev.banyan.cli.output.OutputFile;
import dev.banyan.cli.output.TextFile;
import dev.banyan.config.Config;
import dev.banyan.reduce.internal.sum.ReproducibleSum;
import dev.banyan.schedule.internal.algorithm.CollectiveRequest;
import dev.banyan.schedule.internal.algorithm.Packings;
import dev.banyan.schedule.internal.program.DirectExchange;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.schedule.plan.Algorithms;
import dev.banyan.schedule.plan.Execution;
import dev.banyan.schedule.plan.PlannedSchedule;
import dev.banyan.schedule.plan.Platform;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.simulate.CallBuffers;
import dev.banyan.simulate.Constant;
import dev.banyan.simulate.Profile;
import dev.banyan.simulate.ProgramSimulator;
import dev.banyan.simulate.RangedCosts;
import dev.banyan.simulate.internal.trace.TraceWriter;
import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.study.machine.Limit;
import dev.banyan.study.machine.LinkRemarks;
import dev.banyan.study.machine.OtherGpus;
import dev.banyan.study.measured.SimulatedNccl;
import dev.banyan.study.text.ChoiceText;
import dev.banyan.study.text.Numbers;
import dev.banyan.study.workload.CallTimes;
import dev.banyan.study.workload.PredictedExecution;
import dev.banyan.study.workload.PredictedSum;
import dev.banyan.study.workload.Predictions;
import dev.banyan.study.workload.Workload;
import dev.banyan.trees.bound.Bound;
import dev.banyan.trees.network.Network;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.IntToDoubleFunction;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Predicts by the simulator, on the machine's own links. The same input gives the same output. */
final class SimulatedBench {
    private static final String FILES_ALONE = "# Python can use exported files (banyan export)";

    private static final String JVM_ALONE =
            "# Banyan's kernels and graphs serve programs on the JVM; Python can use only exported files (banyan"
                    + " export)";

    /** Times are the same if they differ by less than this fraction. */
    private static final double SAME = 1e-3;

    private final ChosenMachine chosen;
    private final Profile profile;
    /** The costs that plans are chosen by, of buffers that the communicator has allocated. */
    private final RangedCosts costs;
    /** The costs of calls on the buffers that are asked for. */
    private final RangedCosts ofBuffers;

    private final CallBuffers buffers;
    private final Execution execution;
    /** True if the costs leave out that a switch combines elements. */
    private final boolean withoutSwitch;

    private final Reporter reporter;
    private final @Nullable OutputFile trace;
    private final boolean verbose;
    /** True if sums of floats are reproducible. */
    private final boolean reproducible;

    /**
     * @param execution what executes calls
     * @param buffers those of the calls
     * @param trace where the timeline of the last run goes, or null for none
     * @param verbose whether constants are printed
     */
    SimulatedBench(
            ChosenMachine chosen,
            Profile profile,
            Execution execution,
            CallBuffers buffers,
            Reporter reporter,
            @Nullable OutputFile trace,
            boolean verbose) {
        reproducible = Config.load().get(Algorithms.REPRODUCIBLE);
        if (reproducible && trace != null) {
            throw new IllegalArgumentException(
                    "--trace shows no passes of reproducible sums; set " + Algorithms.REPRODUCIBLE.name() + " to 0");
        }
        this.chosen = chosen;
        this.profile = profile;
        costs = new RangedCosts(chosen.machine(), profile, execution);
        this.buffers = buffers;
        ofBuffers = ofBuffers(buffers, costs, chosen, execution);
        this.execution = execution;
        withoutSwitch = false;
        this.reporter = reporter;
        this.trace = trace;
        this.verbose = verbose;
    }

    /** The same without what a switch combines. */
    private SimulatedBench(SimulatedBench bench) {
        chosen = bench.chosen;
        profile = bench.profile;
        execution = bench.execution;
        costs = new RangedCosts(
                chosen.machine(),
                profile.with(Constant.EXCHANGE_MULTICAST_FRACTION, 0, "the switch does not combine such elements"),
                execution);
        buffers = bench.buffers;
        ofBuffers = ofBuffers(buffers, costs, chosen, execution);
        withoutSwitch = true;
        reporter = bench.reporter;
        trace = bench.trace;
        verbose = bench.verbose;
        reproducible = bench.reproducible;
    }

    /** Returns the costs of calls on the buffers that are asked for: those of plans, where these are the same. */
    private static RangedCosts ofBuffers(
            CallBuffers buffers, RangedCosts ofPlans, ChosenMachine chosen, Execution execution) {
        return buffers == CallBuffers.ALLOCATED
                ? ofPlans
                : new RangedCosts(chosen.machine(), ofPlans.usual().profile(), execution, buffers);
    }

    /** Returns which buffers the calls are on, to follow the profile; nothing where it makes no difference. */
    String buffers() {
        return execution != Execution.PROGRAMS
                        || !costs.usual().programSimulator(List.of()).takesExchanges()
                ? ""
                : buffers == CallBuffers.ALLOCATED
                        ? ", buffers of Communicator.allocateAll (--buffers any: those of other allocators)"
                        : ", buffers of any allocator (--buffers allocated: those of"
                                + " Communicator.allocateAll, the default without --workload)";
    }

    /** Returns what executes most predicted calls by some algorithms. */
    Platform platform(List<AlgorithmConfig> asked) {
        List<AlgorithmConfig> algorithms = Sweep.withoutNccl(asked);
        return algorithms.isEmpty()
                ? costs.usual().platform()
                : Platform.simulated(PredictedExecution.of(chosen.machine(), algorithms, costs.usual(), false)
                        .execution());
    }

    /** Predicts a sweep: without the switch where it does not combine such elements, or the simulator knows no time. */
    long run(Sweep asked) {
        Call call = asked.call();
        boolean combines = DirectExchange.combinesInSwitch(call.type(), call.op())
                && call.type().bytes() <= Integer.BYTES;
        return !call.collective().reduces() || combines ? predict(asked) : new SimulatedBench(this).predict(asked);
    }

    private long predict(Sweep asked) {
        boolean sums = isReproducible(asked.call());
        Sweep sweep = asked;
        SimulatedNccl nccl = null;
        if (asked.hasNccl()) {
            Sweep others = asked.withoutNccl();
            nccl = nccl(
                    asked.call().type(),
                    asked.call().op(),
                    sums,
                    !others.algorithms().isEmpty());
            sweep = nccl == null ? others : asked;
        }
        long smallest = sweep.counts().getFirst();
        long largest = sweep.largestCount();
        NcclTable table = NcclTable.PREDICTED;
        reporter.lines(table.header());
        SwitchedAlgorithms switched = new SwitchedAlgorithms(costs, execution);
        ExchangingAlgorithms exchanging = new ExchangingAlgorithms();
        Map<AlgorithmConfig, String> remarks = new HashMap<>();
        List<Row> rows;
        try (Rows<Row> printed = reporter.rows("bench", sweep.rows(), table::row)) {
            for (AlgorithmConfig algorithm : sweep.algorithms()) {
                Predictions predictions = algorithm.algorithm() == AlgorithmChoice.NCCL ? null : predictions(algorithm);
                Optional<String> remark = predictions == null
                        ? Objects.requireNonNull(nccl).setUp()
                        : sums
                                ? Optional.empty()
                                : switched.remark(
                                        algorithm,
                                        () -> predictions.plan(asked.call().request(smallest, false)),
                                        () -> predictions.plan(asked.call().request(largest, false)));
                remark.ifPresent(words -> remarks.put(algorithm, words));
                printed.title(ChoiceText.name(Sweep.title(algorithm), remark.orElse(null)));
                for (long count : sweep.counts()) {
                    Row row = predictions == null
                            ? row(Objects.requireNonNull(nccl), sweep.call(), count)
                            : row(algorithm, predictions, sweep.call(), count, exchanging);
                    if (printed.isLast(row)) {
                        return 0;
                    }
                }
            }
            rows = printed.all();
        }
        List<Row> ours = rows.stream().filter(row -> !isNccl(row)).toList();
        if (!ours.isEmpty()) {
            reporter.lines(notes().ofCalls(ours, exchanging.names(), switched.found()));
            remarkOnGpus();
        }
        if (sums) {
            reporter.lines(passes());
        }
        if (nccl != null) {
            remark(nccl, asked.call().collective(), ranges(nccl, rows));
        }
        reporter.lines(conclusions(sweep, rows, remarks));
        if (trace != null) {
            Predictions predictions = predictions(sweep.algorithms().getFirst());
            List<PlannedSchedule> last = List.of(predictions.plan(sweep.call().request(sweep.largestCount(), true)));
            double us = write(trace, last, 1, "the largest size, in place");
            reporter.lines(
                    besideTable(last.getFirst(), us, rows.getLast().inPlace().timeUs()));
        }
        return reporter.sweep(
                chosen.machine().name() + ", simulated",
                rows,
                bound(sweep).gbs().doubleValue());
    }

    /**
     * Returns the model of NCCL, or null where there is none, which a line says.
     *
     * @param sums whether sums are reproducible
     * @param hasOthers whether there are rows without it
     * @throws IllegalArgumentException if there is no model and no other row
     */
    private @Nullable SimulatedNccl nccl(DataType type, ReduceOp op, boolean sums, boolean hasOthers) {
        try {
            if (sums) {
                throw new IllegalArgumentException(
                        Algorithms.REPRODUCIBLE.name() + " asks for results that NCCL does not promise; set it to 0");
            }
            return SimulatedNccl.compared(chosen.machine(), profile).of(type, op);
        } catch (IllegalArgumentException e) {
            if (!hasOthers) {
                throw e;
            }
            reporter.lines(List.of("# there is no row of nccl: " + e.getMessage()));
            return null;
        }
    }

    private ExecutorNotes notes() {
        return new ExecutorNotes(chosen, costs, buffers, withoutSwitch, verbose);
    }

    /** Prints what Banyan's times mean for GPUs that it does not run on. */
    private void remarkOnGpus() {
        OtherGpus.remark(chosen.machine()).ifPresent(remark -> reporter.lines(List.of("# " + remark)));
    }

    /** Prints how far NCCL's times can be trusted, a sentence a line, and who can use Banyan's algorithms. */
    private void remark(SimulatedNccl nccl, Collective collective, List<String> further) {
        reporter.lines(Stream.of(nccl.remarks(collective), further)
                .flatMap(List::stream)
                .map(remark -> "# " + remark)
                .toList());
        reporter.lines(notes().constantsOfNccl());
        reporter.lines(List.of(OtherGpus.remark(chosen.machine()).isPresent() ? FILES_ALONE : JVM_ALONE));
    }

    /** Returns how the ranges of NCCL's rows come about; nothing where they have none. */
    private static List<String> ranges(SimulatedNccl nccl, List<Row> rows) {
        List<Row> ranged = rows.stream()
                .filter(row -> isNccl(row) && row.outOfPlace().range() != null)
                .toList();
        if (ranged.isEmpty()) {
            return List.of();
        }
        Call call = ranged.getFirst().call();
        boolean cut = ranged.stream()
                .anyMatch(row -> nccl.isCut(
                        Objects.requireNonNull(row.outOfPlace().range()), call.collective(), call.size(row.count())));
        return List.of("Its ranges are its times divided and multiplied by the factor for their size"
                + (cut ? ", but never exceed " + nccl.fullRate(call.collective()) : ""));
    }

    private static boolean isNccl(Row row) {
        return row.algorithm().algorithm() == AlgorithmChoice.NCCL;
    }

    /** NCCL takes as long in place as out of place. */
    private static Row row(SimulatedNccl nccl, Call call, long count) {
        Measurement predicted = Measurement.predicted(call, count, nccl.call(call.collective(), call.size(count)));
        return new Row(AlgorithmConfig.of(AlgorithmChoice.NCCL), call, count, predicted, predicted, null);
    }

    private Row row(
            AlgorithmConfig algorithm,
            Predictions predictions,
            Call call,
            long count,
            ExchangingAlgorithms exchanging) {
        return new Row(
                algorithm,
                call,
                count,
                predicted(predictions, call, count, false, () -> exchanging.add(algorithm, false)),
                predicted(predictions, call, count, true, () -> exchanging.add(algorithm, true)),
                null);
    }

    /** @param onExchange runs where kernels exchange the call's buffers directly */
    private Measurement predicted(
            Predictions predictions, Call call, long count, boolean inPlace, Runnable onExchange) {
        CollectiveRequest request = call.request(count, inPlace);
        if (isReproducible(call)) {
            PredictedSum sum = predictions.sum(request, call.type());
            if (sum.isExchange()) {
                onExchange.run();
            }
            return Measurement.predicted(call, count, sum.call(ofBuffers));
        }
        PlannedSchedule planned = predictions.plan(request);
        if (costs.usual().exchanges(planned)) {
            onExchange.run();
        }
        return Measurement.predicted(call, count, predictions.call(planned, request, ofBuffers));
    }

    private boolean isReproducible(Call call) {
        if (!reproducible || !call.collective().reduces()) {
            return false;
        }
        ReproducibleSum.check(call.type(), call.op());
        return ReproducibleSum.covers(call.type(), call.op());
    }

    /** Returns the parts of reproducible sums. */
    private List<String> passes() {
        Profile constants = costs.usual().profile();
        return List.of(
                "# " + Algorithms.REPRODUCIBLE.name() + "=1: a sum is one exchange where GPUs load from each other over"
                        + " NVLink, its arithmetic assumed to be as fast as copies,",
                "# else an allreduce of one byte an element, a reduction of integers, an allgather if it is long,",
                "# and three kernels of " + Numbers.plain(constants.get(Constant.KERNEL_US))
                        + " us each that move their bytes at " + Numbers.plain(constants.get(Constant.REDUCE_GBS))
                        + " GB/s, assumed to be as fast as copies");
    }

    private Predictions predictions(AlgorithmConfig algorithm) {
        return Predictions.of(chosen.machine(), algorithm, costs.usual());
    }

    /**
     * @param remarks words beside the names of algorithms
     */
    private List<String> conclusions(Sweep sweep, List<Row> rows, Map<AlgorithmConfig, String> remarks) {
        Summary summary = new Summary(rows, remarks);
        List<String> lines = summary.comparison("predicted time (us) out of place");
        lines.addAll(summary.choices());
        Collective collective = sweep.call().collective();
        if (rows.stream().anyMatch(row -> row.algorithm().algorithm() == AlgorithmChoice.AUTO)
                && predictions(AlgorithmConfig.of(AlgorithmChoice.AUTO)).isTuned(collective)) {
            lines.add("# auto follows a section of " + Config.load().get(Config.TUNING));
        }
        Network network = chosen.network();
        int root = sweep.call().root();
        Bound bound = bound(sweep);
        lines.add("#");
        Limit own = Limit.of(network, collective, bound);
        List<Limit> limits = new ArrayList<>(List.of(own));
        limits.addAll(Limit.beyond(chosen, new int[0], network, collective, root, bound));
        Limit reached = withoutSwitch && !sweep.hasNccl()
                ? own
                : Limit.reduced(network, collective, bound).stream().findFirst().orElse(own);
        lines.addAll(summary.shareOf(reached.algbwGBs(), reached.counted()));
        limits.remove(reached);
        limits.forEach(limit -> lines.add("# " + limit.sentence()));
        LinkRemarks.on(network, chosen.machine()).forEach(remark -> lines.add("# " + remark));
        return lines;
    }

    /** Returns the bound of all schedules over the chosen links. */
    private Bound bound(Sweep sweep) {
        return Packings.best(chosen.network())
                .packing(sweep.call().collective(), sweep.call().root())
                .bound();
    }

    /** Predicts the gradients of a model. NCCL's model predicts calls alone, so it has no row for calls in flight. */
    void run(Workload workload, List<AlgorithmConfig> asked) {
        List<AlgorithmConfig> algorithms = Sweep.withoutNccl(asked);
        SimulatedNccl nccl =
                Sweep.hasNccl(asked) ? nccl(DataType.F32, ReduceOp.SUM, reproducible, !algorithms.isEmpty()) : null;
        reporter.lines(WorkloadRow.header(workload, chosen.machine().size(), false));
        List<WorkloadRow> rows;
        List<Integer> depths = WorkloadRow.depths(workload);
        Map<Boolean, List<AlgorithmConfig>> kernels = new TreeMap<>(Comparator.reverseOrder());
        SwitchedAlgorithms switched = new SwitchedAlgorithms(costs, execution);
        ExchangingAlgorithms exchanging = new ExchangingAlgorithms();
        Map<String, String> remarks = new HashMap<>();
        List<String> choices = new ArrayList<>();
        try (Rows<WorkloadRow> printed = reporter.rows(
                workload.name(),
                algorithms.size() * depths.size() + (nccl == null ? 0 : 1),
                row -> row.line(remarks.get(row.algorithm())))) {
            for (AlgorithmConfig algorithm : algorithms) {
                Predictions predictions = predictions(algorithm);
                IntToDoubleFunction endUs;
                if (reproducible) {
                    List<PredictedSum> sums = predictions.sums(workload);
                    endUs = depth -> PredictedSum.endUs(ofBuffers.usual(), sums, depth);
                } else {
                    List<PlannedSchedule> plans = predictions.plan(workload);
                    CallTimes calls = new CallTimes(ofBuffers.usual(), plans);
                    kernels.computeIfAbsent(calls.areKernels(), _ -> new ArrayList<>())
                            .add(algorithm);
                    if (plans.stream().anyMatch(costs.usual()::exchanges)) {
                        exchanging.add(algorithm, true);
                    }
                    switched.remark(algorithm, () -> plans)
                            .ifPresent(words -> remarks.put(ChoiceText.algorithm(algorithm), words));
                    if (algorithm.algorithm() == AlgorithmChoice.AUTO) {
                        choices.add(choices(plans));
                    }
                    endUs = calls::endUs;
                }
                for (int depth : depths) {
                    double timeMs = endUs.applyAsDouble(depth) / 1e3;
                    if (printed.isLast(WorkloadRow.of(workload, depth, algorithm, timeMs, null, null))) {
                        return;
                    }
                }
            }
            if (nccl != null) {
                AlgorithmConfig algorithm = AlgorithmConfig.of(AlgorithmChoice.NCCL);
                nccl.setUp().ifPresent(words -> remarks.put(ChoiceText.algorithm(algorithm), words));
                double timeMs = nccl.oneByOneUs(workload) / 1e3;
                if (printed.isLast(WorkloadRow.of(workload, 1, algorithm, timeMs, null, null))) {
                    return;
                }
            }
            rows = printed.all();
        }
        if (trace != null) {
            write(trace, predictions(algorithms.getFirst()).plan(workload), workload.keys(), "all calls in flight");
        }
        reporter.lines(choices);
        reporter.lines(notes().ofGradients(kernels, exchanging.names(), switched.found()));
        if (!algorithms.isEmpty()) {
            remarkOnGpus();
        }
        if (nccl != null) {
            remark(
                    nccl,
                    Collective.ALL_REDUCE,
                    List.of("Its calls follow one after another, as its model knows no calls in flight"));
        }
        reporter.lines(List.of(
                "# no winner is certain: these times have no range and no computing in between, and rest on some"
                        + " assumed constants" + (verbose ? ":" : "; -v prints them")));
        reporter.lines(notes().constants(kernels.containsKey(true) || reproducible));
        if (reproducible) {
            reporter.lines(passes());
        }
        reporter.result(rows);
    }

    /** Returns what auto takes for the calls of a model. */
    private static String choices(List<PlannedSchedule> plans) {
        Map<String, Long> numbers = plans.stream()
                .collect(Collectors.groupingBy(
                        plan -> plan.choice().algorithm().label(), LinkedHashMap::new, Collectors.counting()));
        return numbers.entrySet().stream()
                .map(each -> each.getKey() + " for " + Numbers.count(each.getValue(), "call"))
                .collect(Collectors.joining(", ", "# auto takes, for each call alone, ", ""));
    }

    /** Returns the time of the timeline in us. */
    private double write(OutputFile file, List<PlannedSchedule> calls, int depth, String what) {
        TraceWriter timeline = new TraceWriter(costs.usual().network());
        double us = new CallTimes(costs.usual(), calls).record(depth, timeline);
        TextFile.write(file.path(), (TextFile.Content) timeline::write);
        reporter.lines(List.of(
                "#",
                "# timeline of " + what + ", " + Numbers.plain(us) + " us: " + file + " (open it in ui.perfetto.dev)"));
        return us;
    }

    /** Returns why the time of a timeline is not that of the table; nothing where it is. */
    private List<String> besideTable(PlannedSchedule planned, double us, double tableUs) {
        ProgramSimulator kernels = costs.usual().programSimulator(planned.links());
        return costs.usual().exchanges(planned)
                ? List.of("# the table has the time of an exchange between the buffers themselves, in which all data"
                        + " moves at once; the timeline shows the same schedule slice by slice, through slots"
                        + (kernels.takesSwitch() ? " and without the switch" : "")
                        + (us > tableUs ? ", which is slower" : ""))
                : Math.abs(us - tableUs) < SAME * tableUs
                        ? List.of()
                        : List.of("# the timeline is of the whole call, whose time the table extrapolates from shorter"
                                + " ones");
    }
}
