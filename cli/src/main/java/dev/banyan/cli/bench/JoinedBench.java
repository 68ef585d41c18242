package dev.banyan.cli.bench;

import dev.banyan.cli.bench.call.Call;
import dev.banyan.cli.bench.call.DeviceCalls;
import dev.banyan.cli.bench.call.Repeats;
import dev.banyan.cli.bench.rank.FreeMemory;
import dev.banyan.cli.bench.rank.RankMemory;
import dev.banyan.cli.bench.report.NcclTable;
import dev.banyan.cli.bench.report.Reporter;
import dev.banyan.cli.bench.report.Row;
import dev.banyan.cli.bench.report.Summary;
import dev.banyan.config.Config;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.plan.SizeRules;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.study.reference.ReferenceCheck;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Runs a sweep in one of several processes of this machine, each with a rank. The process of rank 0 reports; times are
 * its own. All processes make the same calls, so that the number of runs depends on the size alone.
 *
 * @param title of a picture
 * @param join joins the other processes with one rank
 */
record JoinedBench(
        String title, int processes, Function<Config, Communicator> join, RunArguments.Runs runs, Reporter reporter) {
    private static final long BYTES_PER_SIZE = 256L << 20;
    private static final int LEAST_RUNS = 10;
    private static final int MOST_RUNS = 5_000;

    /** Returns the number of wrong elements of all processes. */
    long run(Sweep sweep) {
        Call call = sweep.call();
        long bytes = call.size(sweep.largestCount());
        FreeMemory.require(
                Math.multiplyExact(2L * processes, bytes), "give a smaller largest size with -e, or fewer processes");
        ReferenceCheck check = CallMeter.reference(call, bytes, runs.checked());
        reporter.lines(NcclTable.MEASURED.header());
        List<Row> rows = sweep.measure(reporter, NcclTable.MEASURED::row, this::open, (algorithm, joined) -> {
            CallMeter meter = meter(joined, call, bytes, check);
            return count -> meter.row(algorithm, joined, count, repeats(call, count)::time);
        });
        if (rows.isEmpty()) {
            return 0;
        }
        reporter.lines(NcclTable.footer(rows));
        reporter.lines(new Summary(rows).comparison(Summary.MEDIANS));
        return reporter.sweep(title, rows, null);
    }

    private Communicator open(AlgorithmConfig algorithm) {
        return join.apply(Config.builder()
                .set(Planner.ALGORITHM, SizeRules.always(algorithm))
                .load());
    }

    private Repeats repeats(Call call, long count) {
        int usual = Math.clamp(BYTES_PER_SIZE / Math.max(1, call.size(count)), LEAST_RUNS, MOST_RUNS);
        return runs.repeats().enoughNanos() == 0 ? runs.repeats() : Repeats.exactly(usual / 2, usual);
    }

    /** Returns what measures the calls of this process. */
    private static CallMeter meter(Communicator joined, Call call, long bytes, @Nullable ReferenceCheck check) {
        Arena arena = Arena.ofAuto();
        DeviceCalls calls = new DeviceCalls(
                RankMemory.of(joined, bytes, arena), RankMemory.of(joined, bytes, arena), joined.firstRank());
        RankMemory sum = RankMemory.of(joined, Long.BYTES, arena);
        return new CallMeter(call, calls, check, wrong -> ofAll(joined, sum, wrong));
    }

    /** Returns the sum of a number over all processes. */
    private static long ofAll(Communicator joined, RankMemory sum, long own) {
        sum.host().getFirst().set(ValueLayout.JAVA_LONG, 0, own);
        sum.send();
        joined.allReduce(sum.buffers(), 1, DataType.I64, ReduceOp.SUM);
        sum.fetch();
        return sum.host().getFirst().get(ValueLayout.JAVA_LONG, 0);
    }
}
