package dev.banyan.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.config.Config;
import dev.banyan.cuda.emulator.CudaEmulator;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.backend.CollectiveTimeoutException;
import dev.banyan.reduce.host.HostBackend;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.plan.SizeRules;
import dev.banyan.schedule.program.ProgramSizes;
import dev.banyan.schedule.type.Collective;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Presets;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Random faults in random device programs: a GPU fails, is lost or never begins, a link holds data up for ever, a flag
 * gets lost, a user aborts. Each one ends in an exception of the call that meets it, in time, and no result is wrong
 * that is taken for right.
 */
class ProgramFaultTest {
    private static final Machine MACHINE = Presets.find("dgx-a100").orElseThrow();
    /** A call that meets a fault must end a second later at most. */
    private static final Duration DEADLINE = Duration.ofMillis(400);

    private final CudaEmulator emulator = EmulatedGpus.driver();
    private final FaultCases cases = new FaultCases(DEADLINE);
    private int met;

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
            int count,
            boolean lines,
            long seed) {
        static Fault of(long seed) {
            SplittableRandom random = new SplittableRandom(seed);
            Kind kind = RandomChoices.any(List.of(Kind.values()), random);
            int ranks = 2 + random.nextInt(7);
            return new Fault(
                    kind,
                    1 + random.nextInt(kind == Kind.LOST_FLAG ? 60 : ranks),
                    RandomChoices.any(kind == Kind.FAIL ? List.of(700, 716, 719, 214) : List.of(46, 214, 999), random),
                    random.nextInt(ranks),
                    random.nextInt(3),
                    RandomChoices.any(List.of(Collective.values()), random),
                    RandomChoices.any(FaultCases.ALGORITHMS, random),
                    ranks,
                    RandomChoices.any(List.of(1, 300, 3000), random),
                    random.nextBoolean(),
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
                case STALL -> "stall " + device + " " + (device + 1 + code % (ranks - 1)) % ranks;
                case LOST_FLAG -> "lose-flag " + number;
                case ABORT -> null;
            };
        }
    }

    @Test
    @Timeout(value = 300, unit = TimeUnit.SECONDS)
    void everyFaultIsAnException() {
        checkAll(0, 100);
    }

    @Test
    @Tag("soak")
    @Timeout(value = 3000, unit = TimeUnit.SECONDS)
    void everyFaultOfAThousandIsAnException() {
        checkAll(1000, 1000);
    }

    private void checkAll(long first, int count) {
        for (long seed = first; seed < first + count; seed++) {
            Fault fault = Fault.of(seed);
            cases.check(fault, () -> check(fault), () -> EmulatedGpus.beginNewProcess(emulator));
        }
        assertThat(met).as("cases whose fault was met").isGreaterThan(count / 2);
    }

    /** Some calls that are sound, and then one that meets the fault, if it comes so far. */
    private void check(Fault fault) {
        emulator.tell("devices 8 switched");
        Machine machine = MACHINE.subset(IntStream.range(0, fault.ranks()).toArray());
        Config config = Config.builder()
                .set(Planner.ALGORITHM, SizeRules.always(fault.algorithm()))
                .set(HostBackend.THREADS, 1)
                .build();
        int[] devices = IntStream.range(0, fault.ranks()).toArray();
        Tuning tuning = new Tuning(
                Moves.DEFAULT,
                GraphCache.MOST_NODES,
                System::nanoTime,
                false,
                ExecutorChoice.KERNEL,
                fault.lines() ? ProgramSizes.DEFAULT : new ProgramSizes(0, 1024, 2, 16),
                1,
                1 + (int) (fault.seed() % 3));
        try (CudaBackend backend = new CudaBackend(devices, cases.deadline(), PeerRule.ALL, 64 << 20, tuning);
                Communicator host = Communicator.create(machine, config);
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
                if (!last && isLate(thrown) && cases.noteTooShort()) {
                    return;
                }
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

    /**
     * Whether a sound call failed because this machine is busy. A launch that does not return in time is an error of
     * CUDA, whose cause is the timeout; peer access that is not there in time is not used.
     */
    private static boolean isLate(@Nullable Throwable thrown) {
        return thrown instanceof CollectiveTimeoutException
                || (thrown instanceof CudaException late
                        && (late.getCause() instanceof CollectiveTimeoutException
                                || String.valueOf(late.getMessage()).contains("do not reach each other's memory")));
    }

    private @Nullable Throwable run(Fault fault, Communicator cuda, List<MemorySegment> buffers, boolean last) {
        return cases.run(() -> cuda.run(fault.call().on(buffers)), true, naps -> {
            if (naps == 0 && last && fault.kind() == Kind.ABORT) {
                LockSupport.parkNanos(new SplittableRandom(fault.seed()).nextLong(3_000_000));
                cuda.abort();
            }
        });
    }
}
