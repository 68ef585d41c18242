package dev.banyan.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.config.Config;
import dev.banyan.cuda.emulator.CudaEmulator;
import dev.banyan.cuda.internal.graph.GraphCache;
import dev.banyan.cuda.internal.graph.Moves;
import dev.banyan.cuda.type.PeerRule;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.internal.host.HostBackend;
import dev.banyan.schedule.internal.program.ProgramSizes;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.plan.SizeRules;
import dev.banyan.schedule.type.Collective;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Presets;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Random faults in random device programs: a GPU fails, is lost or never begins, a link holds data up for ever, a flag
 * gets lost, a user aborts. Each one ends in an exception of the call that meets it, and no result is wrong that is
 * taken for right. No time passes before the fault has been met.
 */
class ProgramFaultTest {
    private static final Machine MACHINE = Presets.find("dgx-a100").orElseThrow();
    private final CudaEmulator emulator = EmulatedProcess.begin();
    private int met;
    private long multicasts;
    private long exchanges;
    /** True if the call that meets the fault has ended, so that no further time passes. */
    private volatile boolean isOver;

    private enum Kind {
        FAIL,
        LOSE,
        HANG,
        STALL,
        LOST_FLAG,
        ABORT
    }

    private record Fault(
            Kind kind,
            int number,
            int code,
            int device,
            int calls,
            Collective collective,
            AlgorithmChoice algorithm,
            int ranks,
            int gpus,
            int count,
            boolean lines,
            boolean exchange,
            long seed) {
        static Fault of(long seed) {
            SplittableRandom random = new SplittableRandom(seed);
            Kind kind = Kind.values()[(int) (seed % Kind.values().length)];
            int ranks = 2 + random.nextInt(7);
            // Exchanges by the switch, by ranks of which some share GPUs, and programs.
            long form = seed / Kind.values().length % 3;
            boolean exchange = form != 2;
            int gpus = form == 1 ? 1 + random.nextInt(Math.min(ranks - 1, 4)) : ranks;
            return new Fault(
                    kind,
                    1 + random.nextInt(kind == Kind.LOST_FLAG ? 60 : gpus),
                    RandomChoices.any(kind == Kind.FAIL ? List.of(700, 716, 719, 214) : List.of(46, 214, 999), random),
                    random.nextInt(gpus),
                    random.nextInt(3),
                    RandomChoices.any(List.of(Collective.values()), random),
                    RandomChoices.any(
                            exchange ? RandomChoices.EXCHANGING_ALGORITHMS : RandomChoices.FAULTY_ALGORITHMS, random),
                    ranks,
                    gpus,
                    RandomChoices.any(List.of(1, 300, 3000), random),
                    random.nextBoolean() && !exchange,
                    exchange,
                    seed);
        }

        IntegerCall call() {
            return new IntegerCall(collective, ranks, count);
        }

        @Nullable
        String command() {
            return switch (kind) {
                case FAIL -> "op kernel " + number + " fail " + code;
                case LOSE -> "op kernel " + number + " lose " + device + " " + code;
                case HANG -> "op kernel " + number + " hang";
                case STALL -> "stall " + device + " " + (device + 1 + code % Math.max(1, gpus - 1)) % gpus;
                case LOST_FLAG -> "lose-flag " + number;
                case ABORT -> null;
            };
        }
    }

    @Test
    void everyFaultIsAnException() {
        checkAll(0, 24);
    }

    @Test
    @Tag("soak")
    void everyFaultOfAThousandIsAnException() {
        checkAll(40, 1000);
    }

    private void checkAll(long first, int count) {
        for (long seed = first; seed < first + count; seed++) {
            Fault fault = Fault.of(seed);
            try {
                check(fault);
            } catch (AssertionError | RuntimeException e) {
                throw new AssertionError(fault.toString(), e);
            }
            multicasts += emulator.count("kernels banyan_multicast");
            exchanges += fault.gpus() < fault.ranks() ? emulator.count("kernels banyan_exchange") : 0;
            EmulatedProcess.beginAnother(emulator);
        }
        assertThat(met).as("cases whose fault was met").isGreaterThan(count / 2);
        assertThat(multicasts).as("kernels by multicast addresses").isPositive();
        assertThat(exchanges).as("kernels of ranks that share GPUs").isPositive();
    }

    /** Some calls that are sound, and then one that meets the fault, if it comes so far. */
    private void check(Fault fault) {
        emulator.tell("devices 8 switched", "capability all 9 0", "multicast " + (fault.exchange() ? "on" : "none"));
        isOver = false;
        Machine machine = MACHINE.subset(IntStream.range(0, fault.ranks()).toArray());
        Config config = Config.builder()
                .set(Planner.ALGORITHM, SizeRules.always(fault.algorithm()))
                .set(HostBackend.THREADS, 1)
                .build();
        int[] devices = IntStream.range(0, fault.ranks())
                .map(rank -> rank % fault.gpus())
                .toArray();
        Tuning tuning = new Tuning(
                Moves.DEFAULT,
                GraphCache.MOST_NODES,
                clock(fault),
                false,
                ExecutorChoice.KERNEL,
                fault.lines() ? ProgramSizes.DEFAULT : new ProgramSizes(0, 1024, 2, 16),
                1,
                1 + (int) (fault.seed() % 3));
        try (CudaBackend backend = new CudaBackend(devices, FaultClock.TIMEOUT, PeerRule.ALL, 64 << 20, tuning);
                Communicator host = Communicator.onHost(machine, config);
                Communicator cuda = Communicator.create(machine, config, backend);
                Arena arena = Arena.ofShared()) {
            List<MemorySegment> expected = fault.call().inputs(fault.seed(), arena);
            List<MemorySegment> buffers = IntStream.range(0, fault.ranks())
                    .mapToObj(rank -> cuda.allocate(rank, expected.get(rank).byteSize()))
                    .toList();
            for (int call = 0; call <= fault.calls(); call++) {
                expected.forEach(input -> cuda.copyToDevice(buffers.get(expected.indexOf(input)), input));
                boolean last = call == fault.calls();
                String command = fault.command();
                if (last && command != null) {
                    emulator.tell(command);
                }
                Throwable thrown = run(fault, cuda, buffers, last);
                isOver = last;
                if (thrown != null) {
                    assertThat(last).as("%s", thrown).isTrue();
                    met++;
                    assertThat(thrown).isInstanceOf(RuntimeException.class).hasMessageMatching("(?s).{10,}");
                    emulator.tell("release 0");
                    return;
                }
                assertThat(last && mustFail(fault)).as("no exception").isFalse();
            }
            host.run(fault.call().on(expected));
            for (int rank = 0; rank < fault.ranks(); rank++) {
                MemorySegment got = arena.allocate(expected.get(rank).byteSize());
                cuda.copyToHost(buffers.get(rank), got);
                assertThat(got.mismatch(expected.get(rank))).as("rank %d", rank).isEqualTo(-1);
            }
        }
    }

    /**
     * A link that no data takes, a flag whose next value comes in time, and an abort that is too late, are no faults.
     */
    private boolean mustFail(Fault fault) {
        return switch (fault.kind()) {
            case STALL, LOST_FLAG, ABORT -> false;
            case FAIL, LOSE, HANG -> emulator.count("faults") > 0;
        };
    }

    /** A lost flag lets the time of kernels pass as well, which may then end by themselves. */
    private LongSupplier clock(Fault fault) {
        if (fault.kind() != Kind.LOST_FLAG) {
            return new FaultClock(emulator);
        }
        AtomicLong nanos = new AtomicLong();
        return () -> {
            if (isOver || emulator.count("faults") == 0) {
                return nanos.get();
            }
            long now = nanos.addAndGet(FaultClock.TIMEOUT.toNanos());
            emulator.tell("timer " + TimeUnit.NANOSECONDS.toMicros(now));
            return now;
        };
    }

    private @Nullable Throwable run(Fault fault, Communicator cuda, List<MemorySegment> buffers, boolean last) {
        CollectiveCall call = fault.call().on(buffers);
        try {
            if (last && fault.kind() == Kind.ABORT) {
                abortWhenKernelsBegin(fault.number(), cuda, call);
            } else {
                cuda.run(call);
            }
            return null;
        } catch (CompletionException e) {
            return e.getCause();
        } catch (RuntimeException e) {
            return e;
        }
    }

    private void abortWhenKernelsBegin(int number, Communicator cuda, CollectiveCall call) {
        long kernels = emulator.count("kernels") + number;
        CompletableFuture<Void> running = cuda.runAsync(call);
        while (!running.isDone() && emulator.count("kernels") < kernels) {
            Thread.onSpinWait();
        }
        cuda.abort();
        running.join();
    }
}
