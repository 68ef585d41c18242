package dev.banyan.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.config.Config;
import dev.banyan.cuda.emulator.CudaEmulator;
import dev.banyan.cuda.emulator.EmulatedGpus;
import dev.banyan.cuda.internal.driver.DeviceAddress;
import dev.banyan.cuda.internal.graph.GraphCache;
import dev.banyan.cuda.internal.graph.Moves;
import dev.banyan.cuda.type.CudaStreams;
import dev.banyan.cuda.type.PeerRule;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.backend.CollectiveTimeoutException;
import dev.banyan.schedule.internal.program.ProgramSizes;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.plan.SizeRules;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Presets;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.IntStream;
import jcuda.driver.CUstream;
import jcuda.driver.JCudaDriver;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Eight communicators on the same emulated GPUs, each used by a thread of its own, whose streams become ready in
 * another order on each GPU. As many blocks run at once as on real GPUs: one of 544 threads on each multiprocessor.
 */
class LaunchOrderTest {
    private static final int COMMUNICATORS = 8;
    private static final int GPUS = 2;
    private static final Machine MACHINE =
            Presets.find("dgx-a100").orElseThrow().subset(0, 1);
    /** Elements of a block's part of 32 KiB, whose slices of 8 KiB have a thread for each 16 bytes. */
    private static final int COUNT_OF_BLOCK = 4 << 10;

    private final CudaEmulator emulator = EmulatedProcess.begin();
    private final ExecutorService threads = Executors.newFixedThreadPool(COMMUNICATORS);

    /** The number of calls that gave the right sum. */
    private long sums;

    /** A communicator, its call, whose kernels take half of a GPU, and its caller's streams. */
    private record User(Communicator gpus, CollectiveCall call, List<CUstream> streams) {
        static User make(int multiprocessors) {
            int blocks = 2 * multiprocessors;
            int count = COUNT_OF_BLOCK * blocks;
            Config config = Config.builder()
                    .set(Planner.ALGORITHM, SizeRules.always(AlgorithmChoice.RING))
                    .build();
            Tuning tuning = new Tuning(
                    Moves.DEFAULT,
                    GraphCache.MOST_NODES,
                    FaultClock.STOPPED,
                    false,
                    ExecutorChoice.KERNEL,
                    new ProgramSizes(0, 8 << 10, 4, blocks),
                    1,
                    1);
            Communicator gpus = Communicator.create(
                    MACHINE,
                    config,
                    new CudaBackend(new int[] {0, 1}, FaultClock.TIMEOUT, PeerRule.ALL, 64 << 20, tuning));
            List<MemorySegment> buffers = new ArrayList<>();
            List<CUstream> streams = new ArrayList<>();
            for (int gpu = 0; gpu < GPUS; gpu++) {
                buffers.add(gpus.allocate(gpu, 4L * count));
                EmulatedGpus.enter(gpu);
                streams.add(EmulatedGpus.stream());
            }
            return new User(
                    gpus, CollectiveCall.allReduce(buffers, count, DataType.I32, ReduceOp.SUM), List.copyOf(streams));
        }

        /** Sets the buffers in the caller's streams by some fills, and sums them up behind these. */
        CompletableFuture<Void> enqueue(long seed) {
            SplittableRandom random = new SplittableRandom(seed);
            for (int gpu = 0; gpu < GPUS; gpu++) {
                EmulatedGpus.enter(gpu);
                for (int fills = random.nextInt(3); fills >= 0; fills--) {
                    EmulatedGpus.ok(JCudaDriver.cuMemsetD32Async(
                            new DeviceAddress(call.outputs().get(gpu).address()),
                            gpu + 1 + fills,
                            call.count(),
                            streams.get(gpu)));
                }
            }
            return gpus.enqueue(call, new CudaStreams(streams));
        }

        boolean hasSums() {
            int[] values = new int[Math.toIntExact(call.count())];
            int[] sums = new int[values.length];
            Arrays.fill(sums, 3);
            return call.outputs().stream().allMatch(buffer -> {
                gpus.copyToHost(buffer, MemorySegment.ofArray(values));
                return Arrays.equals(values, sums);
            });
        }
    }

    @AfterEach
    void end() {
        threads.shutdown();
        assertThat(emulator.problems()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(ints = {48, 80})
    void communicatorsOfOneProcessNeverWaitForEachOther(int multiprocessors) {
        checkRuns(multiprocessors, 2, 0);
    }

    @Tag("soak")
    @ParameterizedTest
    @ValueSource(ints = {48, 80, 108, 132})
    void communicatorsOfOneProcessNeverWaitForEachOtherInFiveHundredRuns(int multiprocessors) {
        checkRuns(multiprocessors, 500, 1000);
    }

    private void checkRuns(int multiprocessors, int runs, long firstSeed) {
        assertThat(runsToADeadlock(multiprocessors, runs, firstSeed)).isEqualTo(-1);
        assertThat(sums).isEqualTo((long) COMMUNICATORS * runs);
    }

    /** Launches that wait for no event have no order on the devices. */
    @Test
    void withoutTheOrderTheyWaitForEver() {
        checkDeadlock(48);
    }

    @Tag("soak")
    @ParameterizedTest
    @ValueSource(ints = {80, 108, 132})
    void withoutTheOrderTheyWaitForEverOnLargerGpus(int multiprocessors) {
        checkDeadlock(multiprocessors);
    }

    private void checkDeadlock(int multiprocessors) {
        emulator.tell("waits lost");
        assertThat(runsToADeadlock(multiprocessors, 500, 2000)).isNotNegative();
    }

    /** Returns the number of runs before the one in which kernels wait for each other for ever, or -1. */
    @SuppressWarnings("FutureReturnValueIgnored") // The inner futures are joined below.
    private int runsToADeadlock(int multiprocessors, int runs, long firstSeed) {
        emulator.tell(
                "workers 2",
                "devices " + GPUS + " switched",
                "capability all 8 0",
                "multiprocessors all " + multiprocessors);
        List<User> users = IntStream.range(0, COMMUNICATORS)
                .mapToObj(_ -> User.make(multiprocessors))
                .toList();
        try {
            users.forEach(user -> user.gpus().run(user.call()));
            for (int run = 0; run < runs; run++) {
                long seed = firstSeed + run;
                emulator.tell("shuffle " + (seed + 1), "pause");
                List<CompletableFuture<CompletableFuture<Void>>> enqueuing = IntStream.range(0, COMMUNICATORS)
                        .mapToObj(u -> CompletableFuture.supplyAsync(
                                () -> users.get(u).enqueue(COMMUNICATORS * seed + u), threads))
                        .toList();
                List<CompletableFuture<Void>> ends =
                        enqueuing.stream().map(CompletableFuture::join).toList();
                emulator.tell("resume");
                CompletableFuture<Void> all = CompletableFuture.allOf(ends.toArray(CompletableFuture[]::new));
                while (!hasEnded(all)) {
                    if (emulator.count("deadlocks") > 0) {
                        users.forEach(user -> user.gpus().abort());
                        return run;
                    }
                }
                all.join();
                sums += users.stream().filter(User::hasSums).count();
            }
            return -1;
        } finally {
            users.forEach(LaunchOrderTest::close);
        }
    }

    /** Closes a communicator when its kernels have ended, however long that takes those that were aborted. */
    private static void close(User user) {
        while (true) {
            try {
                user.gpus().close();
                return;
            } catch (CollectiveTimeoutException e) {
                assertThat(e).hasMessageContaining("close again later");
            }
        }
    }

    /** Waits a moment for the end of all calls, and leaves the processor to the emulated GPUs. */
    private static boolean hasEnded(CompletableFuture<Void> all) {
        try {
            all.get(1, TimeUnit.MILLISECONDS);
            return true;
        } catch (TimeoutException e) {
            return false;
        } catch (ExecutionException | InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
