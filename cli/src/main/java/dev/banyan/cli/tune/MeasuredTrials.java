package dev.banyan.cli.tune;

import dev.banyan.cli.bench.call.Repeats;
import dev.banyan.cli.bench.rank.RankMemory;
import dev.banyan.cli.bench.rank.RankSite;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.backend.NcclRequest;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.schedule.plan.SizeRules;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.simulate.RangedCosts.TimeRange;
import dev.banyan.study.tune.Trials;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Tries where ranks are played, in place, with sums of floats. */
final class MeasuredTrials implements Trials {
    private static final List<Long> LENGTHS = List.of(Long.MAX_VALUE, 4L << 20, 1L << 20, 256L << 10, 64L << 10);

    /** The ratio of times that differ by noise. */
    private static final double NOISE = 1.02;

    private final RankSite site;
    private final Collective collective;
    private final int root;
    private final Arena arena = Arena.ofShared();
    private final RankMemory memory;
    private final @Nullable String ncclRefusal;
    private final List<AlgorithmChoice> algorithms;
    private final Map<AlgorithmConfig, Communicator> communicators = new HashMap<>();
    private final Map<Trial, Double> done = new HashMap<>();

    private record Trial(AlgorithmConfig choice, long bytes) {}

    /**
     * @param site the ranks, which it does not close
     * @param mostBytes greatest size of a call
     */
    MeasuredTrials(RankSite site, Collective collective, int root, long mostBytes) {
        this.site = site;
        this.collective = collective;
        this.root = root;
        NcclRequest usual = new NcclRequest(collective, root, 1, DataType.F32, ReduceOp.SUM, true);
        ncclRefusal = site.refusal(usual);
        algorithms = ncclRefusal != null
                ? AlgorithmChoice.scheduled()
                : Stream.concat(AlgorithmChoice.scheduled().stream(), Stream.of(AlgorithmChoice.NCCL))
                        .toList();
        memory = site.allocate(arena, mostBytes);
        memory.host().forEach(buffer -> buffer.fill((byte) 0));
        memory.send();
    }

    @Override
    public List<AlgorithmChoice> algorithms() {
        return algorithms;
    }

    /** Why NCCL is not among the algorithms; null if it is. */
    @Nullable
    String ncclRefusal() {
        return ncclRefusal;
    }

    /** Returns the backend's own chunk length, and some fixed lengths below the size. */
    @Override
    public List<Long> chunkBytes(AlgorithmConfig whole, long bytes) {
        if (whole.algorithm() == AlgorithmChoice.NCCL) {
            return List.of(Long.MAX_VALUE);
        }
        return LENGTHS.stream()
                .filter(length -> length == Long.MAX_VALUE || length < bytes)
                .toList();
    }

    @Override
    public double noise() {
        return NOISE;
    }

    @Override
    public List<Integer> maxTrees() {
        return List.of(Integer.MAX_VALUE);
    }

    @Override
    public double us(AlgorithmConfig choice, long bytes) {
        return done.computeIfAbsent(new Trial(choice, bytes), this::measure);
    }

    @Override
    public TimeRange range(AlgorithmConfig choice, long bytes) {
        double us = us(choice, bytes);
        return new TimeRange(us / NOISE, us * NOISE);
    }

    private double measure(Trial trial) {
        Communicator communicator =
                communicators.computeIfAbsent(trial.choice(), choice -> site.open(SizeRules.always(choice)));
        long one = Math.max(collective.inputElements(1, site.ranks()), collective.outputElements(1, site.ranks()));
        long count = Math.max(1, trial.bytes() / DataType.F32.bytes() / one);
        List<MemorySegment> used = memory.buffers().stream()
                .map(buffer -> buffer.asSlice(0, count * one * DataType.F32.bytes()))
                .toList();
        CollectiveCall call = CollectiveCall.of(collective, root, count, DataType.F32, ReduceOp.SUM, used);
        communicator.prepare(call);
        return Repeats.medianUs(() -> communicator.run(call));
    }

    @Override
    public void close() {
        communicators.values().forEach(Communicator::close);
        arena.close();
    }
}
