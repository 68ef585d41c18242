package dev.banyan.cli.tune;

import dev.banyan.cli.bench.call.Call;
import dev.banyan.cli.bench.call.DeviceCalls;
import dev.banyan.cli.bench.call.Repeats;
import dev.banyan.cli.bench.rank.CudaSite;
import dev.banyan.cli.bench.rank.RankMemory;
import dev.banyan.cli.bench.rank.RankSite;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.schedule.plan.SizeRules;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.simulate.RangedCosts.TimeRange;
import dev.banyan.study.tune.Trials;
import java.lang.foreign.Arena;
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
    private final Call call;
    private final Arena arena = Arena.ofShared();
    private final DeviceCalls calls;
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
        call = new Call(collective, DataType.F32, ReduceOp.SUM, root, site.ranks());
        ncclRefusal = site.refusal(call.ncclRequest(1, true));
        algorithms = ncclRefusal != null
                ? AlgorithmChoice.scheduled()
                : Stream.concat(AlgorithmChoice.scheduled().stream(), Stream.of(AlgorithmChoice.NCCL))
                        .toList();
        RankMemory memory = site.allocate(arena, mostBytes);
        memory.host().forEach(buffer -> buffer.fill((byte) 0));
        memory.send();
        calls = new DeviceCalls(memory, memory, 0);
    }

    @Override
    public List<AlgorithmChoice> algorithms() {
        return algorithms;
    }

    @Override
    public List<String> remarks() {
        String noise = "the choice of the size before is kept where it is at most 2% slower, which may be noise";
        return site instanceof CudaSite && ncclRefusal != null
                ? List.of(noise, "nccl is not tried: " + ncclRefusal)
                : List.of(noise);
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
        CollectiveCall timed = calls.together(call, call.countFor(trial.bytes()), 0);
        communicator.prepare(timed);
        return Repeats.medianUs(() -> communicator.run(timed));
    }

    @Override
    public void close() {
        communicators.values().forEach(Communicator::close);
        arena.close();
    }
}
