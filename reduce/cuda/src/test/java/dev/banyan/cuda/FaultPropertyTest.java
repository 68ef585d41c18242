package dev.banyan.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.config.Config;
import dev.banyan.cuda.emulator.CudaEmulator;
import dev.banyan.cuda.internal.driver.ProcessFault;
import dev.banyan.cuda.internal.graph.GraphCache;
import dev.banyan.cuda.internal.graph.Moves;
import dev.banyan.cuda.type.CudaException;
import dev.banyan.cuda.type.PeerRule;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.backend.CollectiveTimeoutException;
import dev.banyan.reduce.internal.host.HostBackend;
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
import java.util.concurrent.CompletionException;
import java.util.function.LongSupplier;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Random faults in random collectives: each one ends in an exception of the first call that meets it, and no result is
 * wrong that is taken for right. No time passes before work hangs.
 */
class FaultPropertyTest {
    private static final Machine MACHINE = Presets.find("p3.16xlarge").orElseThrow();
    private static final Tuning DIRECT = new Tuning(Moves.DEFAULT, GraphCache.MOST_NODES, System::nanoTime, false);
    private static final Tuning COPIES =
            new Tuning(new Moves(2048, 64, 2, 0), GraphCache.MOST_NODES, System::nanoTime, false);

    private final CudaEmulator emulator = EmulatedProcess.begin();
    private int met;

    private enum Kind {
        FAIL,
        HANG,
        LOSE,
        LOSE_WHILE_HUNG
    }

    /** A case. */
    private record Fault(
            Kind kind,
            String mode,
            String operation,
            int number,
            int code,
            int device,
            int calls,
            Collective collective,
            AlgorithmChoice algorithm,
            int ranks,
            int count,
            boolean copies,
            long seed) {
        static Fault of(long seed) {
            SplittableRandom random = new SplittableRandom(seed);
            Kind kind = Kind.values()[(int) (seed % Kind.values().length)];
            List<Integer> codes = kind == Kind.FAIL ? List.of(700, 716, 719, 702, 214) : List.of(46, 214, 999);
            boolean hangs = kind == Kind.HANG || kind == Kind.LOSE_WHILE_HUNG;
            List<Integer> counts = hangs ? List.of(1, 300, 5000) : List.of(1, 300, 5000, 100_000);
            int ranks = 2 + random.nextInt(7);
            return new Fault(
                    kind,
                    random.nextBoolean() ? "pends" : "errors",
                    RandomChoices.any(List.of("any", "kernel", "copy", "peer"), random),
                    1 + random.nextInt(random.nextBoolean() ? 4 : 24),
                    RandomChoices.any(codes, random),
                    random.nextInt(ranks),
                    random.nextInt(3),
                    RandomChoices.any(List.of(Collective.values()), random),
                    RandomChoices.any(RandomChoices.FAULTY_ALGORITHMS, random),
                    ranks,
                    RandomChoices.any(counts, random),
                    random.nextBoolean(),
                    seed);
        }

        IntegerCall call() {
            return new IntegerCall(collective, ranks, count);
        }

        String command() {
            return "op " + operation + " " + number
                    + switch (kind) {
                        case FAIL -> " fail " + code;
                        case LOSE -> " lose " + device + " " + code;
                        case HANG, LOSE_WHILE_HUNG -> " hang";
                    };
        }
    }

    @Test
    void everyFaultIsAnExceptionOfTheFirstCall() {
        checkAll(0, 40);
    }

    @Test
    @Tag("soak")
    void everyFaultOfAThousandIsAnExceptionOfTheFirstCall() {
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
            end();
        }
        assertThat(met).as("cases whose fault was met").isGreaterThan(count / 2);
    }

    private void end() {
        if (!ProcessFault.isThere()) {
            // The next backend frees the hung work's memory when that work has ended.
            emulator.tell("release 0");
            while (emulator.count("bytes") > 0) {
                new CudaBackend(new int[] {0, 1, 2, 3, 4, 5, 6, 7}, FaultClock.TIMEOUT, PeerRule.ALL, 64 << 20, DIRECT)
                        .close();
            }
        }
        EmulatedProcess.beginAnother(emulator);
    }

    /** Some calls that are sound, and then one that meets the fault, if it has as many operations. */
    private void check(Fault fault) {
        Machine machine = MACHINE.subset(IntStream.range(0, fault.ranks()).toArray());
        Config config = Config.builder()
                .set(Planner.ALGORITHM, SizeRules.always(fault.algorithm()))
                .set(HostBackend.THREADS, 1)
                .build();
        int[] devices = IntStream.range(0, fault.ranks()).toArray();
        try (CudaBackend backend = new CudaBackend(
                        devices,
                        FaultClock.TIMEOUT,
                        PeerRule.ALL,
                        64 << 20,
                        (fault.copies() ? COPIES : DIRECT).by(clock(fault)));
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
                if (last) {
                    emulator.tell("failed-work " + fault.mode(), fault.command());
                }
                Throwable thrown = run(cuda, fault.call().on(buffers));
                boolean faulty = last && emulator.count("faults") > 0;
                assertThat(thrown != null).as("an exception: %s", thrown).isEqualTo(faulty);
                if (thrown != null) {
                    met++;
                    assertThat(thrown)
                            .isInstanceOf(
                                    fault.kind() == Kind.HANG ? CollectiveTimeoutException.class : CudaException.class);
                    return;
                }
            }
            host.run(fault.call().on(expected));
            try {
                for (int rank = 0; rank < fault.ranks(); rank++) {
                    MemorySegment got = arena.allocate(expected.get(rank).byteSize());
                    cuda.copyToHost(buffers.get(rank), got);
                    assertThat(got.mismatch(expected.get(rank)))
                            .as("rank %d", rank)
                            .isEqualTo(-1);
                }
            } catch (CudaException | CollectiveTimeoutException e) {
                assertThat(emulator.count("faults")).as("faults of copies").isEqualTo(1);
                met++;
            }
        }
    }

    /** A device that is to be lost while work hangs is lost when somebody waits for that work. */
    private LongSupplier clock(Fault fault) {
        return fault.kind() == Kind.LOSE_WHILE_HUNG
                ? new FaultClock(emulator, () -> emulator.tell("lose " + fault.device() + " " + fault.code()))
                : new FaultClock(emulator);
    }

    private static @Nullable Throwable run(Communicator cuda, CollectiveCall call) {
        try {
            cuda.run(call);
            return null;
        } catch (CompletionException e) {
            return e.getCause();
        } catch (RuntimeException e) {
            return e;
        }
    }
}
