package dev.banyan.cli.tune;

import dev.banyan.cli.bench.rank.BackendOption;
import dev.banyan.cli.bench.rank.CudaSite;
import dev.banyan.cli.bench.rank.RankSite;
import dev.banyan.cli.bench.report.CallPicture;
import dev.banyan.cli.bench.workload.WorkloadOption;
import dev.banyan.cli.input.MachineOptions;
import dev.banyan.cli.input.VariantOptions;
import dev.banyan.cli.output.OutputFile;
import dev.banyan.cli.output.PlotFile;
import dev.banyan.cli.output.Progress;
import dev.banyan.cli.output.ReportCommand;
import dev.banyan.cli.output.RunContext;
import dev.banyan.config.Config;
import dev.banyan.cuda.CudaBackendProvider;
import dev.banyan.schedule.internal.algorithm.Packings;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.plan.Platform;
import dev.banyan.schedule.plan.SizeRules;
import dev.banyan.schedule.plan.Tuning;
import dev.banyan.schedule.plan.TuningFile;
import dev.banyan.schedule.type.Collective;
import dev.banyan.simulate.Profile;
import dev.banyan.simulate.Profiles;
import dev.banyan.simulate.RangedCosts;
import dev.banyan.simulate.SimulatedCosts;
import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.study.machine.OtherGpus;
import dev.banyan.study.machine.Variants;
import dev.banyan.study.text.ByteSize;
import dev.banyan.study.text.Sizes;
import dev.banyan.study.tune.IterationTimes;
import dev.banyan.study.tune.SimulatedTrials;
import dev.banyan.study.tune.Trials;
import dev.banyan.study.tune.Tuner;
import dev.banyan.study.workload.PredictedExecution;
import dev.banyan.study.workload.Workload;
import dev.banyan.topology.Machine;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code banyan tune}: finds the best settings for one machine, and writes them. */
@Command(
        name = "tune",
        description = {
            "Find the best algorithm, chunk length and number of trees for each size on a machine.",
            "They are found by measuring on the GPUs of this machine, or in host memory where it has fewer than two; or"
                    + " in the simulator (--predict). They are written to a file that every later run on that machine"
                    + " follows."
        },
        footer = {
            "",
            "Each run adds a section to the file, or replaces its own. BANYAN_ALGORITHM=auto follows",
            "the section of the backend, executor, devices, driver and links that it runs on; where",
            "there is none, a warning says so. The file of the working directory is found; others",
            "are named by BANYAN_TUNING.",
            "",
            "Examples:",
            "  banyan tune",
            "  banyan tune --devices 0-3",
            "  banyan tune --backend host --format json",
            "  banyan tune --predict --machine topo.txt --workload resnet-50",
            "  banyan tune --predict --machine dgx-2 --devices 0-7 --collective broadcast --output b.ini",
            "  banyan tune --predict --machine dgx-a100 --plot tuned.svg"
        })
public final class TuneCommand extends ReportCommand {
    private static final ByteSize FIRST = ByteSize.parse("1K");
    private static final ByteSize LAST = ByteSize.parse("1G");
    private static final ByteSize LAST_MEASURED = ByteSize.parse("16M");
    private static final int FACTOR = 2;
    private static final int FACTOR_MEASURED = 4;
    private static final int ROOT = 0;

    @Mixin
    private final MachineOptions machine = new MachineOptions();

    @Mixin
    private final BackendOption backend = new BackendOption();

    @Option(
            names = "--predict",
            description = "Predict in the simulator instead of measuring; for this the machine need not be this one.")
    private boolean predicts;

    @Option(
            names = "--profile",
            paramLabel = "NAME|FILE",
            description = "With --predict: the constants of the machine class (default: what fits the machine).")
    private @Nullable Profile profile;

    @Option(
            names = "--collective",
            paramLabel = "NAME",
            description = "all_reduce, reduce, broadcast, reduce_scatter or all_gather (default: all_reduce); root 0.")
    private Collective collective = Collective.ALL_REDUCE;

    @Option(
            names = {"-b", "--minbytes"},
            paramLabel = "SIZE",
            description = "Smallest size (default: 1K).")
    private ByteSize first = FIRST;

    @Option(
            names = {"-e", "--maxbytes"},
            paramLabel = "SIZE",
            description = "Largest size (default: 1G; measured 16M).")
    private @Nullable ByteSize last;

    @Option(
            names = {"-f", "--stepfactor"},
            paramLabel = "N",
            description = "Each size is N times the one before (default: 2; measured 4).")
    private @Nullable Integer factor;

    @Mixin
    private final VariantOptions variants = new VariantOptions();

    @Mixin
    private final WorkloadOption workloads = new WorkloadOption();

    @Option(
            names = {"-o", "--output"},
            paramLabel = "FILE",
            description = "Where the settings go (default: ${DEFAULT-VALUE}).",
            defaultValue = "banyan-tuned.ini")
    private @Nullable OutputFile output; // has a default

    @Option(
            names = "--plot",
            paramLabel = "FILE.svg",
            description = "Draw time and bus bandwidth over the size, a curve for each algorithm and the tuned choice.")
    private @Nullable PlotFile plot;

    @Override
    public void run() {
        Workload workload = workloads.get();
        require(predicts || profile == null, "--profile has constants of the simulator; add --predict");
        require(predicts || workload == null, "--workload is predicted; add --predict");
        require(!predicts || !backend.isGiven(), "--predict needs no backend; leave --backend out");
        require(
                workload == null || collective == Collective.ALL_REDUCE,
                "--workload is an all_reduce; leave --collective out");
        long most = (last != null ? last : predicts ? LAST : LAST_MEASURED).bytes();
        require(
                first.bytes() > 0 && most >= first.bytes(),
                "-b is " + first.written() + " and -e is " + new ByteSize(most).written()
                        + "; sizes must be positive and ascending");
        require(factor == null || factor > 1, "-f is " + factor + "; it must be at least 2");
        require(most <= Sizes.MOST_BYTES, "-e is " + most + " bytes; it must be at most 1024T");
        Variants named = variants.named(AlgorithmChoice.scheduled());
        Path file = Objects.requireNonNull(output).path();
        if (Files.isRegularFile(file)) {
            // A file that cannot be read is better refused before the trials than after them.
            TuningFile.read(file);
        }
        if (predicts) {
            notePlainSums();
            predict(machine.choose(2), workload, most, named);
            return;
        }
        Config config = Config.load().without(List.of(Config.TUNING));
        try (RankSite site = backend.open(machine, 2, config)) {
            measure(site, most, named);
        }
    }

    private int root() {
        return collective.hasRoot() ? ROOT : -1;
    }

    private void predict(ChosenMachine chosen, @Nullable Workload workload, long most, Variants named) {
        Machine group = chosen.machine();
        Config config =
                Config.builder().set(Planner.ALGORITHM, SizeRules.AUTO).load().without(List.of(Config.TUNING));
        RangedCosts ranged = new RangedCosts(
                group, profile == null ? Profiles.of(group) : profile, CudaBackendProvider.execution(config));
        SimulatedCosts costs = ranged.usual();
        Trials trials = new SimulatedTrials(group, config, ranged, collective, root());
        Tuner tuner = tune(trials, named, most);
        IterationTimes times = workload == null
                ? null
                : new IterationTimes(group, costs, workload, variants.of(AlgorithmChoice.scheduled()));
        List<String> remarks = new ArrayList<>();
        PredictedExecution executed = PredictedExecution.ofPacking(group, costs);
        executed.remark().ifPresent(remarks::add);
        OtherGpus.remark(group).ifPresent(remarks::add);
        remarks.addAll(trials.remarks());
        report(
                chosen,
                group.name() + ", simulated",
                true,
                costs.profile(),
                new TuneReport(
                        Tuning.of(costs.platform(), group, Map.of(collective, tuner.rules())),
                        Platform.simulated(executed.execution()),
                        group.size(),
                        collective,
                        "predicted with " + Profiles.described(group, costs.profile()),
                        remarks,
                        tuner.sizes(),
                        workload,
                        times == null ? List.of() : times.ways(tuner.rules()),
                        times == null ? null : times.bestBound()));
    }

    private void measure(RankSite site, long most, Variants named) {
        Tuner tuner;
        List<String> remarks;
        try (Trials trials = new MeasuredTrials(site, collective, root(), most)) {
            tuner = tune(trials, named, most);
            remarks = trials.remarks();
        }
        report(
                site.chosen(),
                site.place(),
                site instanceof CudaSite,
                null,
                new TuneReport(
                        Tuning.of(site.platform(), site.machine(), Map.of(collective, tuner.rules())),
                        site.platform(),
                        site.ranks(),
                        collective,
                        site.devices(),
                        remarks,
                        tuner.sizes(),
                        null,
                        List.of(),
                        null));
    }

    private Tuner tune(Trials trials, Variants named, long most) {
        int usual = predicts ? FACTOR : FACTOR_MEASURED;
        List<Long> sizes = Sizes.byFactor(first.bytes(), most, factor == null ? usual : factor);
        Tuner tuner = new Tuner(trials, named);
        try (Progress progress = Progress.start("tune", sizes.size(), err())) {
            for (long size : sizes) {
                tuner.next(size);
                progress.step();
            }
        }
        return tuner;
    }

    /**
     * Writes the settings, and prints the report.
     *
     * @param place the origin of the times for the picture's title
     * @param ofLinks whether links bound the times
     */
    private void report(
            ChosenMachine chosen, String place, boolean ofLinks, @Nullable Profile constants, TuneReport report) {
        Path file = Objects.requireNonNull(output).path();
        new SharedTuningFile(file).add(report.tuning());
        if (plot != null) {
            Machine group = chosen.machine();
            Double bound = ofLinks
                    ? (Double) Packings.best(chosen.network())
                            .packing(collective, root())
                            .bound()
                            .gbs()
                            .doubleValue()
                    : null;
            Map<String, Map<Long, Double>> us = new LinkedHashMap<>();
            for (Tuner.Found found : report.sizes()) {
                found.best()
                        .forEach((algorithm, tried) -> us.computeIfAbsent(algorithm.label(), _ -> new LinkedHashMap<>())
                                .put(found.bytes(), tried.us()));
            }
            us.put(
                    "tuned",
                    report.sizes().stream()
                            .collect(Collectors.toMap(
                                    Tuner.Found::bytes, Tuner.Found::us, (one, _) -> one, LinkedHashMap::new)));
            plot.write(CallPicture.of(
                    collective.label() + " on " + place,
                    "in place, best settings",
                    collective.busFactor(group.size()),
                    bound,
                    us));
        }
        remarkAside(null, chosen.warnings());
        print(
                RunContext.of(chosen.machine(), report.executor(), constants == null ? null : constants.name()),
                report.json(file.toString()),
                () -> report.lines(file.toString(), chosen.remark()).forEach(out()::println));
    }
}
