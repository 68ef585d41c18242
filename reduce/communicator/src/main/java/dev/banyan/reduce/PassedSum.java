package dev.banyan.reduce;

import dev.banyan.reduce.backend.Backend;
import dev.banyan.reduce.backend.CallerStreams;
import dev.banyan.reduce.backend.Completion;
import dev.banyan.reduce.backend.Executable;
import dev.banyan.reduce.backend.RankRange;
import dev.banyan.reduce.internal.CloseAll;
import dev.banyan.reduce.internal.Completions;
import dev.banyan.reduce.internal.sum.OpenSum;
import dev.banyan.reduce.internal.sum.ReproducibleSum;
import dev.banyan.reduce.internal.sum.SumPass;
import dev.banyan.reduce.internal.sum.SumPasses;
import dev.banyan.reduce.internal.sum.SumRequest;
import dev.banyan.schedule.internal.algorithm.CollectiveRequest;
import dev.banyan.schedule.internal.algorithm.SumParts;
import dev.banyan.schedule.plan.AlgorithmHint;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A reproducible sum on devices with memory of their own: in one pass where devices can load the numbers of all ranks,
 * else by the collectives of {@link SumParts}, for which each device makes the codes and integers of its own numbers,
 * and results.
 */
final class PassedSum implements Executable {
    private final SumRequest request;
    private final ReproducibleSum sum;
    private final int ranks;
    private final RankRange held;
    private final SumPasses passes;
    private final SumMemory memory;
    private final SumParts parts;
    /** The collectives of {@link SumParts#collectives}, prepared. */
    private final List<Executable> collectives = new ArrayList<>();

    private @Nullable OpenSum atOnce;

    PassedSum(
            SumRequest request,
            int ranks,
            RankRange held,
            Backend backend,
            SumPasses passes,
            SumMemory memory,
            Planner planner,
            AlgorithmHint hint,
            long chunkBytes) {
        this.request = request;
        this.ranks = ranks;
        this.held = held;
        this.passes = passes;
        this.memory = memory;
        sum = new ReproducibleSum(request.type(), ranks, request.mean());
        CollectiveRequest planned = new CollectiveRequest(
                request.collective(),
                request.root(),
                request.count(),
                request.type().bytes(),
                request.inPlace(),
                chunkBytes);
        parts = SumParts.of(planned, request.type(), ranks);
        try {
            atOnce = planner.planDirect(planned, hint)
                    .flatMap(direct -> passes.prepare(direct.schedule(), sum))
                    .orElse(null);
            for (CollectiveRequest part : parts.collectives()) {
                DataType type = collectives.isEmpty()
                        ? DataType.U8
                        : part.collective() == Collective.ALL_GATHER ? request.type() : parts.integers();
                collectives.add(backend.prepare(
                        planner.plan(part, hint).schedule(),
                        type,
                        collectives.isEmpty() ? ReduceOp.MAX : ReduceOp.SUM));
            }
        } catch (Throwable e) {
            try {
                close();
            } catch (RuntimeException closing) {
                e.addSuppressed(closing);
            }
            throw e;
        }
    }

    /** Returns how many numbers each rank gives. */
    private long elements() {
        return parts.greatest().count();
    }

    @Override
    public void run(MemorySegment[] inputs, MemorySegment[] outputs) {
        CompletableFuture<Void> run = new CompletableFuture<>();
        start(inputs, outputs, null, Completion.of(run));
        poll(run);
        Completions.join(run);
    }

    @Override
    public void start(
            MemorySegment[] inputs, MemorySegment[] outputs, @Nullable CallerStreams streams, Completion completion) {
        if (atOnce != null && atOnce.takes(inputs, outputs)) {
            atOnce.start(inputs, outputs, streams, completion);
            return;
        }
        SumGroup alone = group();
        alone.add(this, inputs, outputs, streams, completion);
        alone.start();
    }

    /** Returns whether a sum of these buffers is one pass. */
    boolean isAtOnce(MemorySegment[] inputs, MemorySegment[] outputs) {
        return atOnce != null && atOnce.takes(inputs, outputs);
    }

    /** Returns an empty group that takes sums of the same communicator. */
    SumGroup group() {
        return new SumGroup(passes, memory);
    }

    long codeBytes() {
        return elements();
    }

    long integerBytes() {
        return elements() * sum.integers().bytes();
    }

    /** Returns what finds the greatest codes, in place. */
    Executable greatest() {
        return collectives.getFirst();
    }

    /** Returns what adds up the integers, in place. */
    Executable total() {
        return collectives.get(1);
    }

    /** Returns what adds up the integers behind the shares of all ranks, in place; empty if there are none. */
    Optional<Executable> rest() {
        return parts.rest().map(_ -> collectives.get(2));
    }

    /** Returns the integers behind the shares of all ranks. */
    MemorySegment[] rest(MemorySegment[] integers) {
        long first = shared() * sum.integers().bytes();
        return Stream.of(integers)
                .map(segment -> segment.byteSize() == 0 ? segment : segment.asSlice(first))
                .toArray(MemorySegment[]::new);
    }

    /** Returns how many results the shares of all ranks have. */
    private long shared() {
        return ranks * parts.total().count();
    }

    /** Returns what distributes the results, in place; empty if they are where they are wanted. */
    Optional<Executable> gathered() {
        return parts.gathered().map(_ -> collectives.getLast());
    }

    /** Returns the passes of this process's ranks. */
    List<SumPass> passes(
            SumPass.Stage stage,
            MemorySegment[] inputs,
            MemorySegment[] outputs,
            MemorySegment[] codes,
            MemorySegment[] integers) {
        return stage == SumPass.Stage.RESULTS
                ? results(outputs, codes, integers)
                : ofAll(stage, request.inPlace() ? outputs : inputs, codes, integers);
    }

    private List<SumPass> ofAll(
            SumPass.Stage stage, MemorySegment[] values, MemorySegment[] codes, MemorySegment[] integers) {
        return IntStream.range(held.first(), held.first() + held.count())
                .mapToObj(rank -> new SumPass(stage, sum, rank, values[rank], codes[rank], integers[rank], elements()))
                .toList();
    }

    private List<SumPass> results(MemorySegment[] outputs, MemorySegment[] codes, MemorySegment[] integers) {
        if (parts.total().collective() != Collective.REDUCE_SCATTER) {
            return ofAll(SumPass.Stage.RESULTS, outputs, codes, integers).stream()
                    .filter(pass -> request.collective() == Collective.ALL_REDUCE || pass.rank() == request.root())
                    .toList();
        }
        boolean isSection = request.inPlace() || parts.gathered().isPresent();
        long share = parts.total().count();
        long rest = parts.rest().map(CollectiveRequest::count).orElse(0L);
        List<SumPass> passes = new ArrayList<>();
        for (int rank = held.first(); rank < held.first() + held.count(); rank++) {
            passes.add(
                    results(rank, outputs[rank], isSection ? rank * share : 0, rank * share, share, codes, integers));
            if (rest > 0) {
                passes.add(results(rank, outputs[rank], shared(), shared(), rest, codes, integers));
            }
        }
        return passes;
    }

    /**
     * Returns the pass that makes some of the results.
     *
     * @param at their place among the rank's outputs
     * @param first their place among the integers
     */
    private SumPass results(
            int rank,
            MemorySegment output,
            long at,
            long first,
            long count,
            MemorySegment[] codes,
            MemorySegment[] integers) {
        long bytes = request.type().bytes();
        return new SumPass(
                SumPass.Stage.RESULTS,
                sum,
                rank,
                output.asSlice(at * bytes, count * bytes),
                codes[rank].asSlice(first),
                integers[rank].asSlice(first * sum.integers().bytes()),
                count);
    }

    /** Allocates the memory of a sum that runs alone; one pass needs none. */
    @Override
    public void warmUp() {
        if (atOnce == null) {
            memory.codes(codeBytes());
            memory.integers(integerBytes());
            collectives.forEach(Executable::warmUp);
        }
    }

    @Override
    public void poll(Future<?> ended) {
        collectives.getLast().poll(ended);
    }

    @Override
    public void abort() {
        executables().forEach(Executable::abort);
    }

    private List<Executable> executables() {
        return Stream.concat(Stream.ofNullable(atOnce), collectives.stream()).toList();
    }

    @Override
    public void close() {
        CloseAll all = new CloseAll();
        executables().forEach(each -> all.close(each::close));
        all.throwFailure();
    }
}
