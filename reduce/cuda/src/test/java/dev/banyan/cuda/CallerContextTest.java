package dev.banyan.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.banyan.config.Config;
import dev.banyan.cuda.emulator.CudaEmulator;
import dev.banyan.cuda.emulator.EmulatedGpus;
import dev.banyan.cuda.internal.peer.PeerMeter;
import dev.banyan.cuda.type.CudaException;
import dev.banyan.cuda.type.CudaStreams;
import dev.banyan.cuda.type.PeerRule;
import dev.banyan.reduce.backend.Backend;
import dev.banyan.reduce.backend.Completion;
import dev.banyan.reduce.backend.Executable;
import dev.banyan.schedule.Schedule;
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
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.LongSupplier;
import jcuda.driver.CUcontext;
import jcuda.driver.JCudaDriver;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** The caller's context stays current, whatever is called and whether it fails. */
class CallerContextTest {
    private static final Machine TWO = Presets.find("p3.16xlarge").orElseThrow().subset(0, 1);
    private static final Duration PATIENCE = FaultClock.TIMEOUT;
    private static final long LIMIT = 64 << 20;

    private final CudaEmulator emulator = EmulatedProcess.begin();
    private CUcontext current = new CUcontext();
    private long depth;

    @AfterEach
    void popAll() {
        while (emulator.count("stack depth") > 0) {
            EmulatedGpus.ok(JCudaDriver.cuCtxPopCurrent(new CUcontext()));
        }
    }

    private void note() {
        current = now();
        depth = emulator.count("stack depth");
    }

    private static CUcontext now() {
        CUcontext context = new CUcontext();
        EmulatedGpus.ok(JCudaDriver.cuCtxGetCurrent(context));
        return context;
    }

    private void assertKept(String call) {
        assertThat(now()).as("current after %s", call).isEqualTo(current);
        assertThat(emulator.count("stack depth")).as("depth after %s", call).isEqualTo(depth);
    }

    /** Calls a method well, and then so that each of its calls of the driver fails in turn. */
    private void check(String name, Runnable call, String... functions) {
        call.run();
        assertKept(name);
        for (String function : functions) {
            emulator.tell("fail " + function + " 1 1");
            assertThat(catchThrowable(call::run))
                    .as("%s without %s", name, function)
                    .isNotNull();
            assertKept(name + " without " + function);
        }
    }

    /** The caller has nothing current, or one context, or two; none of them is of the backend's first device. */
    @ParameterizedTest
    @CsvSource({"0, KERNEL", "1, GRAPH", "1, KERNEL", "2, GRAPH"})
    void everyPublicMethodKeepsIt(int contexts, ExecutorChoice executor) {
        for (int c = 0; c < contexts; c++) {
            CUcontext context = new CUcontext();
            EmulatedGpus.ok(JCudaDriver.cuDevicePrimaryCtxRetain(context, EmulatedGpus.device(5 + c)));
            EmulatedGpus.ok(JCudaDriver.cuCtxPushCurrent(context));
        }
        note();
        for (String fault :
                List.of("cuDevicePrimaryCtxRetain 2", "cuStreamCreate 1", "cuMemAlloc 2", "cuCtxPushCurrent 1")) {
            emulator.tell("fail " + fault + " 2");
            assertThat(catchThrowable(() -> backend(executor, FaultClock.STOPPED)))
                    .as(fault)
                    .isInstanceOf(CudaException.class);
            assertKept("a constructor without " + fault);
        }
        CudaBackend backend = backend(executor, FaultClock.STOPPED);
        assertKept("the constructor");
        MemorySegment[] buffers = {backend.allocate(0, 64), backend.allocate(1, 64)};
        MemorySegment host = MemorySegment.ofArray(new byte[64]);
        check(
                "allocate",
                // Shorter memory that is open to all devices shares mappings.
                () -> backend.allocate(1, 2 << 20),
                executor == ExecutorChoice.GRAPH ? "cuMemAlloc" : "cuMemCreate",
                "cuMemsetD8Async",
                "cuCtxPushCurrent");
        check("copyToDevice", () -> backend.copyToDevice(buffers[1], host), "cuMemcpyHtoDAsync", "cuEventRecord");
        check("copyToHost", () -> backend.copyToHost(buffers[1], host), "cuMemcpyDtoHAsync", "cuPointerGetAttribute");
        check(
                "allocate and free by an arena",
                () -> {
                    try (Arena arena = Arena.ofShared()) {
                        backend.allocate(1, 64, arena);
                        assertKept("allocate");
                        backend.allocateHost(64, arena);
                        assertKept("allocateHost");
                    }
                },
                "cuMemHostAlloc");
        Schedule schedule = schedule();
        check(
                "prepare",
                () -> {
                    Executable executable = backend.prepare(schedule, DataType.I32, ReduceOp.SUM);
                    assertKept("prepare");
                    executable.close();
                },
                "cuCtxPushCurrent");
        Executable executable = backend.prepare(schedule, DataType.I32, ReduceOp.SUM);
        check("run", () -> executable.run(buffers, buffers));
        CompletableFuture<Void> started = new CompletableFuture<>();
        executable.start(buffers, buffers, null, Completion.of(started));
        assertKept("start");
        executable.poll(started);
        assertKept("poll");
        started.join();
        CompletableFuture<Void> queued = new CompletableFuture<>();
        executable.start(buffers, buffers, CudaStreams.defaults(2), Completion.of(queued));
        assertKept("start in streams");
        queued.join();
        emulator.tell("fail " + (executor == ExecutorChoice.GRAPH ? "cuGraphLaunch" : "cuLaunchKernel") + " 1 1");
        assertThat(catchThrowable(() -> executable.run(buffers, buffers))).isInstanceOf(CudaException.class);
        assertKept("run without a launch");
        executable.close();
        assertKept("closing an executable");
        backend.close();
        assertKept("close");
        try (PeerMeter meter = new PeerMeter(List.of(0, 1), 4096, PATIENCE)) {
            assertKept("a meter's constructor");
            check("measure", () -> meter.measure(0, 1), "cuMemcpyDtoHAsync");
        }
        assertKept("closing a meter");
    }

    /** Virtual threads leave their carriers in the midst of their calls, as the clock of the backend lets them. */
    @ParameterizedTest
    @EnumSource(names = {"GRAPH", "KERNEL"})
    void callsOfVirtualThreadsLeaveTheirCarriersAlone(ExecutorChoice executor) throws Exception {
        LongSupplier yielding = () -> {
            Thread.yield();
            return 0;
        };
        try (CudaBackend backend = backend(executor, yielding);
                Executable executable = backend.prepare(schedule(), DataType.I32, ReduceOp.SUM);
                ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<?>> calls = new ArrayList<>();
            for (int t = 0; t < 20; t++) {
                calls.add(threads.submit(() -> callAll(backend, executable, threads)));
            }
            for (Future<?> call : calls) {
                call.get();
            }
            for (int look = 0; look < 100; look++) {
                calls.add(threads.submit(() -> {
                    assertKept("calls of virtual threads");
                    assertThat(now()).isEqualTo(new CUcontext());
                }));
                calls.getLast().get();
            }
        }
    }

    private static void callAll(CudaBackend backend, Executable executable, Executor virtual) {
        MemorySegment[] buffers = {backend.allocate(0, 64), backend.allocate(1, 64)};
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment host = arena.allocate(64).fill((byte) 1);
            backend.copyToDevice(buffers[0], host);
            backend.copyToDevice(buffers[1], host.asReadOnly());
            executable.run(buffers, buffers);
            List<CompletableFuture<Void>> started = List.of(new CompletableFuture<>(), new CompletableFuture<>());
            try (Backend.Group _ = backend.group()) {
                started.forEach(one -> executable.start(buffers, buffers, null, Completion.of(one)));
            }
            started.getFirst()
                    .thenRunAsync(() -> backend.copyToHost(buffers[0], MemorySegment.ofArray(new byte[64])), virtual)
                    .join();
            started.getLast().join();
            backend.copyToHost(buffers[0], host);
            assertThat(host.get(ValueLayout.JAVA_INT, 0)).isEqualTo(8 * 0x01010101);
            assertThatThrownBy(() -> backend.copyToHost(buffers[0], host.asReadOnly()))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("read-only");
        }
    }

    private static Schedule schedule() {
        return Planner.of(TWO, Config.defaults())
                .plan(
                        new CollectiveRequest(
                                Collective.ALL_REDUCE,
                                -1,
                                16,
                                4,
                                true,
                                Config.defaults().get(Planner.CHUNK_BYTES)),
                        AlgorithmHint.CONFIGURED)
                .schedule();
    }

    private static CudaBackend backend(ExecutorChoice executor, LongSupplier clock) {
        return new CudaBackend(
                new int[] {0, 1},
                PATIENCE,
                PeerRule.ALL,
                LIMIT,
                Tuning.DEFAULT.by(clock).with(executor));
    }
}
