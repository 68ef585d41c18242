package dev.banyan.cli.bench;

import dev.banyan.cli.bench.call.AlgorithmList;
import dev.banyan.cli.bench.call.Call;
import dev.banyan.cli.bench.call.ElementTypes;
import dev.banyan.cli.input.VariantOptions;
import dev.banyan.cli.output.OptionGroup;
import dev.banyan.cli.output.PlotFile;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.study.machine.Variants;
import dev.banyan.study.text.ByteSize;
import dev.banyan.study.text.Sizes;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options of nccl-tests that say which calls are made. */
final class SweepArguments extends OptionGroup {
    private static final ByteSize FIRST = ByteSize.parse("8");
    private static final ByteSize LAST = ByteSize.parse("128M");
    private static final ByteSize SHORT_FIRST = ByteSize.parse("1K");
    private static final ByteSize SHORT_LAST = ByteSize.parse("64M");
    private static final int FACTOR = 2;
    private static final int SHORT_FACTOR = 4;
    private static final int MOST_SIZES = 10_000;

    /** Explains the columns of a sweep in the footers of commands. */
    static final String COLUMNS = "Columns are those of nccl-tests: busbw is algbw times 2(n-1)/n for all_reduce,\n"
            + "(n-1)/n for reduce_scatter and all_gather, and 1 for reduce and broadcast.";

    @Option(
            names = {"-a", "--algorithm"},
            paramLabel = "NAME[,NAME]",
            description =
                    "single-tree, multi-tree, packing, ring, star, one-shot, nccl, auto, or all, which leaves nccl and"
                        + " auto out (default: auto; of the short sweep and of workloads all). With parameters as tune"
                        + " prints them: packing/8 for the most trees, ring/1 for the most rings, multi-tree/exact,"
                        + " packing@64K for the longest chunk. predict has a model of nccl; to measure it takes GPUs.")
    private @Nullable AlgorithmList algorithms;

    @Option(
            names = {"-b", "--minbytes"},
            paramLabel = "SIZE",
            description = "Smallest size, e.g. 8, 64K, 1M (default: 8; of the short sweep 1K).")
    private @Nullable ByteSize first;

    @Option(
            names = {"-e", "--maxbytes"},
            paramLabel = "SIZE",
            description = "Largest size (default: 128M; of the short sweep 64M).")
    private @Nullable ByteSize last;

    @Option(
            names = {"-f", "--stepfactor"},
            paramLabel = "N",
            description = "Each size is N times the one before (default: 2; of the short sweep 4).")
    private @Nullable Integer factor;

    @Option(
            names = {"-i", "--stepbytes"},
            paramLabel = "SIZE",
            description = "Each size is SIZE more than the one before, instead of -f.")
    private @Nullable ByteSize step;

    @Option(
            names = {"-d", "--datatype"},
            paramLabel = "TYPE",
            description = "int8, uint8, int32, int64, half, bfloat16, float, double or all, one after another"
                    + " (default: float).")
    private ElementTypes types = ElementTypes.FLOAT;

    @Option(
            names = {"-o", "--op"},
            paramLabel = "OP",
            description = "sum, prod, min, max, avg or all, one after another (default: sum).")
    private Operations ops = Operations.SUM;

    @Option(
            names = {"-r", "--root"},
            paramLabel = "RANK",
            description = "Root of a reduce or broadcast (default: 0).")
    private @Nullable Integer root;

    @Option(
            names = "--collective",
            paramLabel = "NAME",
            description = "all_reduce, reduce, broadcast, reduce_scatter or all_gather (default: all_reduce).")
    private Collective collective = Collective.ALL_REDUCE;

    @Option(
            names = "--plot",
            paramLabel = "FILE.svg",
            description = "Draw the sweep: time and bus bandwidth over the size, a curve for each algorithm.")
    private @Nullable PlotFile plot;

    /** Returns where the sweep is drawn, or null for nowhere. */
    @Nullable
    PlotFile plot() {
        return plot;
    }

    /** Returns whether there is more than one type or operation. */
    boolean isSeveral() {
        return types.types().size() > 1 || (collective.reduces() && ops.ops().size() > 1);
    }

    /** Returns whether calls are the ones that workloads make. */
    private boolean isSumOfFloats() {
        return collective == Collective.ALL_REDUCE && types.equals(ElementTypes.FLOAT) && ops.equals(Operations.SUM);
    }

    /** @throws picocli.CommandLine.ParameterException if the options make no sense together */
    void refuseNonsense(VariantOptions variants) {
        listed(variants); // refuses variants that have no meaning
        require(factor == null || step == null, "-f and -i exclude each other");
        require(factor == null || factor > 1, "-f is " + factor + "; it must be at least 2");
        require(step == null || step.bytes() > 0, "-i is 0; it must be at least 1");
        require(
                root == null || collective.hasRoot(),
                "-r has no meaning for " + collective.label() + ", which has no root");
        require(plot == null || !isSeveral(), "--plot shows one type and operation; name them with -d and -o");
    }

    /**
     * Rejects sizes, types and operations beside a workload.
     *
     * @throws picocli.CommandLine.ParameterException if the options make no sense together
     */
    void refuseBesideWorkload() {
        require(plot == null, "--plot draws a sweep of sizes; leave it or --workload out");
        require(!anySizeGiven(), "--workload brings its own sizes; leave -b, -e, -f and -i out");
        require(isSumOfFloats(), "--workload is an all_reduce of float by sum; leave --collective, -d and -o out");
    }

    /** Returns the algorithms that the user names, or null. */
    @Nullable
    AlgorithmList algorithms() {
        return algorithms;
    }

    /** Returns whether NCCL is among the algorithms. */
    boolean hasNccl() {
        return algorithms != null && algorithms.has(AlgorithmChoice.NCCL);
    }

    /** Returns the algorithms that run, in the variants that the user asks for. */
    List<AlgorithmConfig> listed(VariantOptions variants) {
        AlgorithmList byDefault = anySizeGiven() ? AlgorithmList.AUTO : AlgorithmList.ALL;
        List<AlgorithmConfig> chosen =
                Objects.requireNonNullElse(algorithms, byDefault).algorithms();
        Variants named = variants.of(chosen.stream()
                .filter(algorithm -> !algorithm.choosesTrees())
                .map(AlgorithmConfig::algorithm)
                .toList());
        return chosen.stream().map(named::of).distinct().toList();
    }

    /** Says which algorithms are left out without a word of the user; empty if none is. */
    List<String> leftOut() {
        return algorithms == null && anySizeGiven()
                ? List.of("# auto alone, as sizes are named and no algorithm; -a all has the others")
                : List.of();
    }

    boolean anySizeGiven() {
        return first != null || last != null || factor != null || step != null;
    }

    /** Returns a sweep for each type and operation. */
    List<Sweep> sweeps(int ranks, VariantOptions variants) {
        int rootOrNone = collective.hasRoot() ? Objects.requireNonNullElse(root, 0) : -1;
        require(
                rootOrNone < ranks && (root == null || root >= 0),
                "-r is " + root + "; the ranks are 0.." + (ranks - 1));
        List<AlgorithmConfig> chosen = listed(variants);
        List<Long> sizes = sizes();
        List<Sweep> sweeps = new ArrayList<>();
        for (DataType type : types.types()) {
            for (ReduceOp op : collective.reduces() ? ops.ops() : Operations.SUM.ops()) {
                Call call = new Call(collective, type, op, rootOrNone, ranks);
                List<Long> counts =
                        sizes.stream().map(call::countFor).distinct().toList();
                sweeps.add(new Sweep(call, counts, chosen));
            }
        }
        return sweeps;
    }

    private List<Long> sizes() {
        boolean given = anySizeGiven();
        long from = (first != null ? first : given ? FIRST : SHORT_FIRST).bytes();
        // One of the two ends alone may lie beyond the other's default.
        long to = last != null ? last.bytes() : Math.max(from, (given ? LAST : SHORT_LAST).bytes());
        from = first == null ? Math.min(from, to) : from;
        require(
                from > 0 && to >= from,
                "-b is " + new ByteSize(from).written() + " and -e is " + new ByteSize(to).written()
                        + "; sizes must be positive and ascending");
        require(to <= Sizes.MOST_BYTES, "-e is " + to + " bytes; it must be at most 1024T");
        if (step != null) {
            require(
                    (to - from) / step.bytes() < MOST_SIZES,
                    "-i makes more than " + MOST_SIZES + " sizes; make it larger");
            return Sizes.byStep(from, to, step.bytes());
        }
        return Sizes.byFactor(from, to, factor != null ? factor : given ? FACTOR : SHORT_FACTOR);
    }
}
