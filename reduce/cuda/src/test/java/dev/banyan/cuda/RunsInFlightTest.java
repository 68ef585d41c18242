package dev.banyan.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.config.Config;
import dev.banyan.cuda.emulator.CudaEmulator;
import dev.banyan.cuda.internal.driver.DriverThreads;
import dev.banyan.cuda.internal.graph.GraphCache;
import dev.banyan.cuda.internal.graph.Moves;
import dev.banyan.cuda.type.CudaException;
import dev.banyan.cuda.type.CudaStreams;
import dev.banyan.cuda.type.PeerRule;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.backend.Backend;
import dev.banyan.reduce.backend.CollectiveTimeoutException;
import dev.banyan.reduce.backend.Completion;
import dev.banyan.reduce.backend.Executable;
import dev.banyan.schedule.internal.algorithm.CollectiveRequest;
import dev.banyan.schedule.plan.AlgorithmHint;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Presets;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Calls while runs have not ended, on an emulated machine whose work stops and goes on by command. */
class RunsInFlightTest {
    private static final Machine TWO = Presets.find("p3.16xlarge").orElseThrow().subset(0, 1);
    private static final Duration PATIENCE = FaultClock.TIMEOUT;
    private static final long LIMIT = 64 << 20;
    private static final int COUNT = 1000;

    private final CudaEmulator emulator = EmulatedProcess.begin();
    private final AtomicLong nanos = new AtomicLong();
    /** Time goes on when the test says so. */
    private final Tuning stoppedClock = new Tuning(Moves.DEFAULT, GraphCache.MOST_NODES, nanos::get, false);

    @AfterEach
    void nothingIsLeft() {
        assertThat(emulator.problems()).isEmpty();
        for (String kind : List.of(
                "contexts",
                "streams",
                "events",
                "modules",
                "graphs",
                "execs",
                "bytes",
                "host allocations",
                "execs destroyed in flight")) {
            assertThat(emulator.count(kind)).as(kind).isZero();
        }
    }

    /** Work may hang only after the first release. */
    private void releaseUntilDone(CompletableFuture<Void> run) {
        while (!run.isDone()) {
            emulator.tell("release 0");
        }
        run.join();
    }

    /**
     * The hung work ends soon after it is released, and its memory is freed when another backend is closed after that.
     */
    private void awaitFreeing() {
        while (emulator.count("bytes") > 0) {
            backend().close();
        }
    }

    /** Nothing is late in it. */
    private static CudaBackend backend() {
        return backend(GraphCache.MOST_NODES);
    }

    private static CudaBackend backend(int graphNodes) {
        return backend(new Tuning(Moves.DEFAULT, graphNodes, FaultClock.STOPPED, false));
    }

    /** Returns a backend in which hanging work is late. */
    private CudaBackend hastyBackend() {
        return backend(new Tuning(Moves.DEFAULT, GraphCache.MOST_NODES, new FaultClock(emulator), false));
    }

    private static CudaBackend backend(Tuning tuning) {
        return new CudaBackend(new int[] {0, 1}, PATIENCE, PeerRule.ALL, LIMIT, tuning);
    }

    private static Communicator communicator(CudaBackend backend) {
        return Communicator.create(TWO, Config.defaults(), backend);
    }

    private static Executable allReduce(CudaBackend backend, int count) {
        CollectiveRequest request = new CollectiveRequest(
                Collective.ALL_REDUCE, -1, count, 4, true, Config.defaults().get(Planner.CHUNK_BYTES));
        return backend.prepare(
                Planner.of(TWO, Config.defaults())
                        .plan(request, AlgorithmHint.CONFIGURED)
                        .schedule(),
                DataType.I32,
                ReduceOp.SUM);
    }

    /** Buffers of ones. */
    private static MemorySegment[] ones(CudaBackend backend) {
        int[] values = new int[COUNT];
        Arrays.fill(values, 1);
        return IntStream.range(0, 2)
                .mapToObj(rank -> {
                    MemorySegment buffer = backend.allocate(rank, 4 * COUNT);
                    backend.copyToDevice(buffer, MemorySegment.ofArray(values));
                    return buffer;
                })
                .toArray(MemorySegment[]::new);
    }

    private static CollectiveCall call(MemorySegment... buffers) {
        return CollectiveCall.allReduce(List.of(buffers), COUNT, DataType.I32, ReduceOp.SUM);
    }

    private static CompletableFuture<Void> start(Executable executable, MemorySegment... buffers) {
        CompletableFuture<Void> run = new CompletableFuture<>();
        executable.start(buffers, buffers, null, Completion.of(run));
        return run;
    }

    private static void assertHolds(CudaBackend backend, MemorySegment buffer, int expected) {
        int[] values = new int[COUNT];
        backend.copyToHost(buffer, MemorySegment.ofArray(values));
        assertThat(values).containsOnly(expected);
    }

    /** The second call touches the buffers of the first, so that this one is launched before the group ends. */
    @Test
    void callsOfAGroupThatIsNotLaunchedLearnOnceOfTheirFailure() {
        Tuning kernels = Tuning.DEFAULT.with(ExecutorChoice.KERNEL).by(FaultClock.STOPPED);
        try (CudaBackend backend = backend(kernels)) {
            MemorySegment[] buffers = ones(backend);
            Executable executable = allReduce(backend, COUNT);
            List<Throwable> failures = new ArrayList<>();
            emulator.tell("fail cuLaunchKernel 1 1");
            try (Backend.Group _ = backend.group()) {
                for (int call = 0; call < 2; call++) {
                    executable.start(buffers, buffers, null, failure -> failures.add(Objects.requireNonNull(failure)));
                }
            }
            assertThat(failures).hasSize(2).allMatch(CudaException.class::isInstance);
        }
    }

    @Test
    void aHungCollectiveDelaysNothingElse() {
        try (CudaBackend backend = backend();
                Communicator cuda = communicator(backend);
                Arena arena = Arena.ofShared()) {
            MemorySegment[] buffers = ones(backend);
            MemorySegment[] others = ones(backend);
            emulator.tell("op kernel 1 hang");
            CompletableFuture<Void> hung = cuda.enqueue(call(buffers), CudaStreams.defaults(2));
            assertHolds(backend, others[1], 1);
            assertHolds(backend, ones(backend)[0], 1);
            assertThat(backend.allocateHost(100, arena).byteSize()).isEqualTo(100);
            allReduce(backend, 77).close();
            CompletableFuture<Void> next = cuda.enqueue(call(others), CudaStreams.defaults(2));
            assertThat(hung).isNotDone();
            assertThat(next).isNotDone();
            releaseUntilDone(hung);
            next.join();
            assertHolds(backend, buffers[0], 2);
            assertHolds(backend, others[1], 2);
        }
    }

    /** Pageable memory of more parts than there are halves of staging memory, and pinned memory. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void copiesOverlapARunningCollective(boolean pinned) {
        byte[] values = new byte[9 << 20];
        new SplittableRandom(3).nextBytes(values);
        try (CudaBackend backend = backend();
                Executable executable = allReduce(backend, COUNT);
                Arena arena = Arena.ofShared()) {
            MemorySegment[] buffers = ones(backend);
            MemorySegment large = backend.allocate(1, values.length);
            MemorySegment host = pinned ? backend.allocateHost(values.length, arena) : arena.allocate(values.length);
            host.copyFrom(MemorySegment.ofArray(values));
            emulator.tell("op kernel 1 hang");
            CompletableFuture<Void> hung = start(executable, buffers);
            backend.copyToDevice(large, host);
            host.fill((byte) 0);
            backend.copyToHost(large, host);
            assertThat(host.mismatch(MemorySegment.ofArray(values))).isEqualTo(-1);
            assertThat(hung).isNotDone();
            releaseUntilDone(hung);
        }
    }

    @Test
    void oneExecutableMayHaveSeveralRunsInFlight() {
        try (CudaBackend backend = backend();
                Executable executable = allReduce(backend, COUNT)) {
            MemorySegment[] buffers = ones(backend);
            MemorySegment[] others = ones(backend);
            emulator.tell("pause");
            List<CompletableFuture<Void>> runs = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                runs.add(start(executable, buffers));
                runs.add(start(executable, others));
            }
            assertThat(runs).noneMatch(CompletableFuture::isDone);
            emulator.tell("resume");
            runs.forEach(CompletableFuture::join);
            assertHolds(backend, buffers[0], 16);
            assertHolds(backend, others[1], 16);
        }
    }

    @Test
    void aRunBehindAnotherOfItsExecutableNamesItsOwnStep() {
        try (CudaBackend backend = backend(stoppedClock);
                Executable executable = allReduce(backend, COUNT)) {
            MemorySegment[] buffers = ones(backend);
            executable.run(buffers, buffers);
            long kernels = emulator.count("kernels");
            emulator.tell("pause", "op kernel " + (kernels + 1) + " hang");
            CompletableFuture<Void> first = start(executable, buffers);
            CompletableFuture<Void> second = start(executable, buffers);
            CompletableFuture<Void> third = start(executable, buffers);
            emulator.tell("resume");
            first.join();
            nanos.addAndGet(PATIENCE.toNanos());
            for (CompletableFuture<Void> failed : List.of(second, third)) {
                assertThatThrownBy(failed::join)
                        .hasCauseInstanceOf(CollectiveTimeoutException.class)
                        .hasMessageContaining("has not done the")
                        .hasMessageNotContaining("has not done the end of");
            }
            assertThatThrownBy(() -> executable.run(buffers, buffers))
                    .isInstanceOf(CudaException.class)
                    .hasMessageContaining("broken");
            emulator.tell("release 0");
        }
        awaitFreeing();
    }

    /**
     * All three together take longer than the timeout, but none does. A release may come so late that it lets two runs
     * end at one time of the clock, so that the next one sees it go on twice: that is still less than the timeout.
     */
    @Test
    void theTimeoutCountsFromTheEndOfTheRunBefore() {
        try (CudaBackend backend = backend(stoppedClock);
                Executable executable = allReduce(backend, COUNT)) {
            MemorySegment[] buffers = ones(backend);
            executable.run(buffers, buffers);
            long kernels = emulator.count("kernels");
            emulator.tell(
                    "op kernel 1 hang",
                    "op kernel " + (kernels + 1) + " hang",
                    "op kernel " + (2 * kernels + 1) + " hang");
            List<CompletableFuture<Void>> runs = IntStream.range(0, 3)
                    .mapToObj(_ -> start(executable, buffers))
                    .toList();
            for (CompletableFuture<Void> run : runs) {
                nanos.addAndGet(PATIENCE.toNanos() * 2 / 5);
                releaseUntilDone(run);
            }
            assertHolds(backend, buffers[0], 16);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"kernel 1", "copy 1", "copy 2"})
    void aFaultOnAnyDeviceFailsTheRunItself(String operation) {
        try (CudaBackend backend = backend();
                Executable executable = allReduce(backend, COUNT)) {
            MemorySegment[] buffers = ones(backend);
            emulator.tell("op " + operation + " fail 700");
            assertThatThrownBy(() -> executable.run(buffers, buffers))
                    .isInstanceOf(CudaException.class)
                    .hasMessageContaining("CUDA_ERROR_ILLEGAL_ADDRESS");
        }
        EmulatedProcess.beginAnother(emulator);
    }

    @Test
    void anExecutableMayBeClosedWhileItsRunIsInFlight() {
        try (CudaBackend backend = backend()) {
            MemorySegment[] buffers = ones(backend);
            emulator.tell("pause");
            Executable executable = allReduce(backend, COUNT);
            CompletableFuture<Void> run = start(executable, buffers);
            executable.close();
            assertThat(emulator.count("execs")).isEqualTo(1);
            emulator.tell("resume");
            run.join();
            assertHolds(backend, buffers[1], 2);
            long pinned = emulator.count("host allocations");
            allReduce(backend, COUNT).close();
            assertThat(emulator.count("execs")).isZero();
            assertThat(emulator.count("host allocations"))
                    .as("marks are reused")
                    .isEqualTo(pinned);
        }
    }

    @Test
    void graphsOfAllExecutablesShareABound() {
        try (CudaBackend measured = backend();
                Executable executable = allReduce(measured, COUNT)) {
            MemorySegment[] buffers = ones(measured);
            executable.run(buffers, buffers);
        }
        int nodes = (int) (emulator.count("calls cuGraphAddKernelNode") + emulator.count("calls cuGraphAddMemcpyNode"));
        try (CudaBackend backend = backend(3 * nodes);
                Executable one = allReduce(backend, COUNT);
                Executable other = allReduce(backend, COUNT)) {
            List<MemorySegment[]> sets =
                    IntStream.range(0, 6).mapToObj(_ -> ones(backend)).toList();
            for (MemorySegment[] set : sets) {
                one.run(set, set);
                other.run(set, set);
                assertThat(emulator.count("execs")).isBetween(1L, 3L);
            }
            long built = emulator.count("calls cuGraphInstantiateWithFlags");
            other.run(sets.getLast(), sets.getLast());
            one.run(sets.getLast(), sets.getLast());
            assertThat(emulator.count("calls cuGraphInstantiateWithFlags")).isEqualTo(built);
            emulator.tell("pause");
            List<CompletableFuture<Void>> runs =
                    sets.stream().map(set -> start(one, set)).toList();
            assertThat(emulator.count("execs"))
                    .as("none in flight is destroyed")
                    .isEqualTo(6);
            emulator.tell("resume");
            runs.forEach(CompletableFuture::join);
            one.run(ones(backend), ones(backend));
            assertThat(emulator.count("execs")).isEqualTo(3);
            assertHolds(backend, sets.getFirst()[0], 8);
            assertHolds(backend, sets.getLast()[0], 32);
        }
        try (CudaBackend backend = backend(1);
                Executable executable = allReduce(backend, COUNT)) {
            executable.run(ones(backend), ones(backend));
            executable.run(ones(backend), ones(backend));
            assertThat(emulator.count("execs")).isEqualTo(1);
        }
    }

    @Test
    void anArenaFreesDeviceMemory() {
        try (CudaBackend backend = backend()) {
            long before = emulator.count("bytes");
            MemorySegment buffer;
            try (Arena arena = Arena.ofShared()) {
                buffer = backend.allocate(1, 4 * COUNT, arena);
                assertThat(buffer.address() % 64).isZero();
                assertThat(buffer.byteSize()).isEqualTo(4 * COUNT);
                assertHolds(backend, buffer, 0);
                assertThat(emulator.count("bytes")).isEqualTo(before + 4 * COUNT);
                assertThat(backend.allocate(0, 0, arena).byteSize()).isZero();
            }
            assertThat(buffer.scope().isAlive()).isFalse();
            assertThat(emulator.count("bytes")).isEqualTo(before);
            try (Arena confined = Arena.ofConfined()) {
                assertThatThrownBy(() -> backend.allocate(0, 100, confined))
                        .isInstanceOf(IllegalArgumentException.class)
                        .hasMessageContaining("one thread");
            }
            assertThat(emulator.count("bytes")).isEqualTo(before);
            assertThat(backend.allocate(0, 100, Arena.global()).byteSize()).isEqualTo(100);
        }
    }

    @Test
    void memoryOfAnArenaStaysWhileARunMayTouchIt() {
        try (CudaBackend backend = backend();
                Executable executable = allReduce(backend, COUNT)) {
            CompletableFuture<Void> run;
            long held;
            try (Arena arena = Arena.ofShared()) {
                MemorySegment[] buffers = {backend.allocate(0, 4 * COUNT, arena), backend.allocate(1, 4 * COUNT, arena)
                };
                backend.allocateHost(100, arena);
                emulator.tell("pause");
                run = start(executable, buffers);
                held = emulator.count("bytes");
            }
            assertThat(emulator.count("bytes")).isEqualTo(held);
            emulator.tell("resume");
            run.join();
            backend.allocate(0, 1);
            assertThat(emulator.count("bytes")).isEqualTo(held - 8 * COUNT + 1);
        }
    }

    @Test
    void aStuckCopyEndsInATimeout() {
        try (CudaBackend backend = hastyBackend()) {
            MemorySegment[] buffers = ones(backend);
            emulator.tell("op copy 1 hang");
            assertThatThrownBy(() -> backend.copyToHost(buffers[1], MemorySegment.ofArray(new byte[8])))
                    .isInstanceOf(CollectiveTimeoutException.class)
                    .hasMessageContaining("a copy to or from device 1 did not end within 2592000000 ms");
            assertThatThrownBy(() -> backend.copyToHost(buffers[0], MemorySegment.ofArray(new byte[8])))
                    .hasMessageContaining("broken");
        }
        assertThat(emulator.count("bytes")).as("kept").isPositive();
        emulator.tell("release 0");
        awaitFreeing();
    }

    /** Neither an arena, nor a close, nor a new backend waits in the driver for what hangs in another backend. */
    @Test
    void nothingIsFreedWhereAnotherBackendHangs() {
        try (CudaBackend hanging = hastyBackend();
                Executable executable = allReduce(hanging, COUNT)) {
            CudaBackend sound = backend();
            MemorySegment[] buffers = ones(hanging);
            long held;
            try (Arena arena = Arena.ofShared()) {
                sound.allocate(0, 100, arena);
                sound.allocateHost(100, arena);
                held = emulator.count("bytes");
                emulator.tell("op kernel 1 hang");
                var _ = start(executable, buffers);
            }
            assertThat(emulator.count("bytes")).isEqualTo(held);
            sound.close();
            assertThat(emulator.count("bytes")).isEqualTo(held);
            backend().close();
        }
        emulator.tell("release 0");
        awaitFreeing();
    }

    /** The clock stands still until all copies but the stuck one have waited for their turn in vain. */
    @Test
    void copiesBehindAStuckOneEndInTimeToo() throws InterruptedException {
        Tuning tuning = new Tuning(Moves.DEFAULT, GraphCache.MOST_NODES, nanos::get, false);
        Duration turn = Duration.ofMillis(300);
        try (CudaBackend backend = new CudaBackend(new int[] {0, 1}, turn, PeerRule.ALL, LIMIT, tuning)) {
            MemorySegment[] buffers = ones(backend);
            emulator.tell("op copy 1 hang");
            CountDownLatch ended = new CountDownLatch(4);
            List<CompletableFuture<Void>> copies = IntStream.range(0, 5)
                    .mapToObj(_ -> CompletableFuture.runAsync(
                                    () -> backend.copyToHost(buffers[1], MemorySegment.ofArray(new byte[8])),
                                    task -> Thread.ofPlatform().daemon().start(task))
                            .whenComplete((_, _) -> ended.countDown()))
                    .toList();
            ended.await();
            nanos.addAndGet(turn.toNanos());
            for (CompletableFuture<Void> copy : copies) {
                assertThatThrownBy(copy::join).rootCause().isInstanceOf(CollectiveTimeoutException.class);
            }
        }
        emulator.tell("release 0");
        awaitFreeing();
    }

    @Test
    void aStuckBackendDoesNotKeepOthersOfItsDevicesFromClosing() {
        CudaBackend sound = backend();
        try (CudaBackend backend = hastyBackend();
                Executable executable = allReduce(backend, COUNT)) {
            MemorySegment[] buffers = ones(backend);
            emulator.tell("op kernel 1 hang");
            assertThatThrownBy(() -> executable.run(buffers, buffers)).isInstanceOf(CollectiveTimeoutException.class);
        }
        sound.close();
        emulator.tell("release 0");
        awaitFreeing();
    }

    /** A start of the watcher fails once. The call has launched nothing then, and the next one is watched. */
    @Test
    void aCallWithoutAWatcherFailsBeforeItLaunches() {
        AtomicInteger starts = new AtomicInteger();
        Tuning tuning = stoppedClock.watchedBy(task -> {
            if (starts.getAndIncrement() == 0) {
                throw new OutOfMemoryError("unable to create native thread");
            }
            DriverThreads.WATCHER.execute(task);
        });
        try (CudaBackend backend = backend(tuning)) {
            Executable executable = allReduce(backend, COUNT);
            MemorySegment[] buffers = ones(backend);
            long launches = emulator.count("graph launches");
            CompletableFuture<Void> ended = new CompletableFuture<>();
            assertThatThrownBy(() -> executable.start(buffers, buffers, null, Completion.of(ended)))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("could not be started; allow this process more threads or memory");
            assertThat(emulator.count("graph launches")).isEqualTo(launches);
            assertThat(ended).isNotDone();
            executable.start(buffers, buffers, null, Completion.of(ended));
            ended.join();
            assertThat(starts).hasValue(2);
        }
    }
}
