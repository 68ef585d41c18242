package dev.banyan.cli.bench;

import dev.banyan.cli.input.ChosenMachine;
import dev.banyan.config.Config;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.plan.SizeRules;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.Machine;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;

/**
 * Runs a sweep in one of several processes of this machine, each with a rank. The process of rank 0 reports; times are
 * its own. All processes make the same calls, so that the number of runs depends on the size alone.
 */
record JoinedBench(ChosenMachine chosen, int processes, Repeats repeats, Reporter reporter) {
    private static final long SEED = 2024;
    private static final long BYTES_PER_SIZE = 256L << 20;
    private static final int LEAST_RUNS = 10;
    private static final int MOST_RUNS = 5_000;
    private static final byte POISON = -1;

    /** Returns the number of wrong elements of all processes. */
    long run(Sweep sweep) {
        Call call = sweep.call();
        Machine machine = chosen.machine();
        ReferenceCheck check = new ReferenceCheck(
                call.element().type(),
                call.op(),
                processes,
                call.size(sweep.largestCount()) / call.element().type().bytes(),
                SEED);
        List<Row> rows;
        reporter.lines(NcclTable.MEASURED.header());
        rows = reporter.<Long, Row>rows(
                "bench",
                sweep.algorithms().choices(),
                sweep::title,
                sweep.counts(),
                algorithm -> {
                    Config config = Config.builder()
                            .set(Planner.ALGORITHM, SizeRules.always(AlgorithmConfig.of(algorithm)))
                            .load();
                    Communicator joined = Communicator.join(machine, config, 1);
                    Rank rank = new Rank(joined, call, sweep.largestCount(), check);
                    return Meter.on(joined, count -> rank.row(algorithm, count, sweep.checked(), runs(call, count)));
                },
                NcclTable.MEASURED::row);
        reporter.lines(NcclTable.MEASURED.footer(rows));
        reporter.lines(new Summary(rows).comparison("median time (us)"));
        reporter.result(rows.stream().map(Row::json).toList());
        reporter.draw(machine.name(), rows);
        return rows.stream().mapToLong(Row::wrong).sum();
    }

    private Repeats runs(Call call, long count) {
        int usual = Math.clamp(BYTES_PER_SIZE / Math.max(1, call.size(count)), LEAST_RUNS, MOST_RUNS);
        return repeats.enoughNanos() == 0 ? repeats : Repeats.exactly(usual / 2, usual);
    }

    /** What this process measures. */
    private static final class Rank {
        private final Communicator joined;
        private final int rank;
        private final Call call;
        private final ReferenceCheck check;
        private final MemorySegment first;
        private final MemorySegment second;
        private final MemorySegment sum;
        private long phase;

        Rank(Communicator joined, Call call, long largestCount, ReferenceCheck check) {
            this.joined = joined;
            this.call = call;
            this.check = check;
            rank = joined.firstRank();
            first = joined.allocate(rank, call.size(largestCount));
            second = joined.allocate(rank, call.size(largestCount));
            sum = joined.allocate(rank, Long.BYTES);
        }

        Row row(AlgorithmChoice algorithm, long count, boolean checked, Repeats repeats) {
            CollectiveCall apart = apart(count);
            Long wrongApart = checked ? (Long) all(checkApart(apart, count)) : null;
            long[] apartNanos = repeats.time(() -> joined.run(apart));
            CollectiveCall together = together(count);
            Long wrongTogether = checked ? (Long) all(checkTogether(together, count)) : null;
            long[] togetherNanos = repeats.time(() -> joined.run(together));
            return new Row(
                    algorithm,
                    call,
                    count,
                    Measurement.of(call, count, apartNanos, wrongApart),
                    Measurement.of(call, count, togetherNanos, wrongTogether),
                    null);
        }

        private CollectiveCall apart(long count) {
            MemorySegment input = first.asSlice(0, call.inputBytes(count));
            MemorySegment output = second.asSlice(0, call.outputBytes(count));
            return CollectiveCall.outOfPlace(
                    call.collective(),
                    call.root(),
                    count,
                    call.element().type(),
                    call.op(),
                    call.hasInput(rank) ? List.of(input) : List.of(),
                    call.hasOutput(rank) ? List.of(output) : List.of());
        }

        private CollectiveCall together(long count) {
            return CollectiveCall.inPlace(
                    call.collective(),
                    call.root(),
                    count,
                    call.element().type(),
                    call.op(),
                    List.of(second.asSlice(0, call.size(count))));
        }

        private long checkApart(CollectiveCall apart, long count) {
            phase += 7_919;
            MemorySegment input = first.asSlice(0, call.inputBytes(count));
            MemorySegment output = second.asSlice(0, call.outputBytes(count));
            check.fill(input, rank, 0, phase);
            output.fill(POISON);
            joined.run(apart);
            return check.changed(input, rank, 0, phase) + wrong(output, count);
        }

        private long checkTogether(CollectiveCall together, long count) {
            phase += 7_919;
            long inputBytes = call.inputBytes(count);
            long outputBytes = call.outputBytes(count);
            MemorySegment buffer = second.asSlice(0, call.size(count));
            buffer.fill(POISON);
            if (call.hasInput(rank)) {
                long at = call.collective() == Collective.ALL_GATHER ? rank * inputBytes : 0;
                check.fill(buffer.asSlice(at, inputBytes), rank, 0, phase);
            }
            joined.run(together);
            long at = call.collective() == Collective.REDUCE_SCATTER ? rank * outputBytes : 0;
            return wrong(buffer.asSlice(at, outputBytes), count);
        }

        private long wrong(MemorySegment output, long count) {
            return call.hasOutput(rank) ? check.wrong(call.collective(), output, rank, call.root(), count, phase) : 0;
        }

        /** Returns the sum of a number over all processes. */
        private long all(long own) {
            sum.set(ValueLayout.JAVA_LONG, 0, own);
            joined.allReduce(List.of(sum), 1, DataType.I64, ReduceOp.SUM);
            return sum.get(ValueLayout.JAVA_LONG, 0);
        }
    }
}
