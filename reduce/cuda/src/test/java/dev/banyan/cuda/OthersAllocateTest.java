package dev.banyan.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.config.Config;
import dev.banyan.cuda.emulator.CudaEmulator;
import dev.banyan.cuda.emulator.EmulatedGpus;
import dev.banyan.cuda.internal.graph.GraphCache;
import dev.banyan.cuda.internal.graph.Moves;
import dev.banyan.cuda.internal.ptx.Kernel;
import dev.banyan.cuda.type.PeerRule;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.internal.program.ProgramSizes;
import dev.banyan.schedule.type.DataType;
import dev.banyan.topology.Presets;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import jcuda.driver.CUcontext;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUmodule;
import jcuda.driver.JCudaDriver;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * Another thread of the process allocates, frees and loads modules while collectives are launched, on a driver that
 * lets these calls wait for the work of all GPUs that peer access joins, and holds up launches there meanwhile.
 */
class OthersAllocateTest {
    private static final int GPUS = 4;
    private static final long SEED = 43;

    private final CudaEmulator emulator = EmulatedProcess.begin();
    private final AtomicBoolean isOver = new AtomicBoolean();

    OthersAllocateTest() {
        emulator.tell("devices " + GPUS + " switched", "allocations coupled");
    }

    @AfterEach
    void nothingIsWrong() {
        assertThat(emulator.problems()).isEmpty();
    }

    private static Communicator communicator() {
        Tuning tuning = new Tuning(
                Moves.DEFAULT,
                GraphCache.MOST_NODES,
                FaultClock.STOPPED,
                true,
                ExecutorChoice.KERNEL,
                ProgramSizes.DEFAULT,
                1,
                1);
        int[] devices = IntStream.range(0, GPUS).toArray();
        return Communicator.create(
                Presets.find("dgx-a100").orElseThrow().subset(devices),
                Config.defaults(),
                new CudaBackend(devices, FaultClock.TIMEOUT, PeerRule.ALL, 64 << 20, tuning));
    }

    /** Does something that waits for work, on a random GPU. */
    private static void disturb(SplittableRandom random) {
        EmulatedGpus.enter(random.nextInt(GPUS));
        for (int spins = random.nextInt(1 << random.nextInt(16)); spins > 0; spins--) {
            Thread.onSpinWait();
        }
        if (random.nextBoolean()) {
            CUdeviceptr memory = EmulatedGpus.allocate(1024);
            EmulatedGpus.ok(JCudaDriver.cuMemFree(memory));
        } else {
            CUmodule module = EmulatedGpus.module(new Kernel.Widen(DataType.I8).ptx());
            EmulatedGpus.ok(JCudaDriver.cuModuleUnload(module));
        }
    }

    @Test
    void noCallOfTheDriverHoldsACollectiveUp() {
        SplittableRandom random = new SplittableRandom(SEED);
        try (Communicator gpus = communicator()) {
            CollectiveCall sum = CallersStreams.sum(gpus);
            gpus.run(sum);
            long queries = emulator.count("calls cuEventQuery");
            CompletableFuture<Void> calls = CompletableFuture.runAsync(() -> {
                while (!isOver.get()) {
                    gpus.run(sum);
                }
            });
            for (int moment = 0; moment < 200; moment++) {
                disturb(random);
                assertThat(emulator.count("deadlocks")).as("moment %d", moment).isZero();
            }
            isOver.set(true);
            calls.join();
            // Words in the host's memory report the ends.
            assertThat(emulator.count("calls cuEventQuery")).isEqualTo(queries);
        }
        assertThat(emulator.count("calls cuCtxEnablePeerAccess")).isZero();
    }

    /** The emulator finds what the backend avoids, once somebody else enables peer access. */
    @Test
    void enabledPeerAccessWouldHoldThemUp() {
        List<CUcontext> contexts =
                IntStream.range(0, GPUS).mapToObj(EmulatedGpus::enter).toList();
        for (int gpu = 0; gpu < GPUS; gpu++) {
            EmulatedGpus.ok(JCudaDriver.cuCtxSetCurrent(contexts.get(gpu)));
            for (int peer = 0; peer < GPUS; peer++) {
                if (peer != gpu) {
                    EmulatedGpus.reach(contexts.get(peer));
                }
            }
        }
        SplittableRandom random = new SplittableRandom(SEED);
        try (Communicator gpus = communicator()) {
            CollectiveCall sum = CallersStreams.sum(gpus);
            gpus.run(sum);
            CompletableFuture<Void> calls = CompletableFuture.runAsync(() -> {
                while (!isOver.get()) {
                    gpus.run(sum);
                }
            });
            CompletableFuture<Void> others = CompletableFuture.runAsync(() -> {
                while (!isOver.get()) {
                    disturb(random);
                }
            });
            while (emulator.count("deadlocks") == 0) {
                Thread.onSpinWait();
            }
            isOver.set(true);
            emulator.tell("allocations free");
            calls.join();
            others.join();
        }
    }
}
