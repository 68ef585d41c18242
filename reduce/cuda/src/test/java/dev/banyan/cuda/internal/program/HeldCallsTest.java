package dev.banyan.cuda.internal.program;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.cuda.EmulatedProcess;
import dev.banyan.cuda.emulator.CudaEmulator;
import dev.banyan.cuda.emulator.EmulatedGpus;
import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.driver.DeviceAddress;
import dev.banyan.cuda.internal.driver.DriverObjects;
import dev.banyan.cuda.internal.driver.DriverStream;
import dev.banyan.cuda.internal.peer.TrialSide;
import dev.banyan.cuda.internal.ptx.Kernel;
import dev.banyan.schedule.type.DataType;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import jcuda.driver.JCudaDriver;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * A call of the driver that waits for kernels lets the garbage collector run: the thread that launches what those
 * kernels wait for may need it. The build runs tests with the serial collector, which such a call holds up if it has an
 * array of the Java heap.
 */
class HeldCallsTest {
    private static final Kernel UPDATE = new Kernel.Update(Kernel.Update.Rule.SGD, DataType.F32);

    private final CudaEmulator emulator = EmulatedProcess.begin();
    private final CudaDevice device = new CudaDevice(0);
    private final DriverObjects objects = new DriverObjects(device);
    private final DriverStream stream = objects.stream();

    @AfterEach
    void end() {
        objects.free();
        device.close();
        assertThat(emulator.problems()).isEmpty();
    }

    /** Collects garbage while a call is in the driver, which then goes on. */
    private void collectDuring(Runnable call, String count) {
        CompletableFuture<Void> held = CompletableFuture.runAsync(call, HeldCallsTest::start);
        while (emulator.count(count) == 0 && !held.isDone()) {
            Thread.onSpinWait();
        }
        assertThat(held).isNotDone();
        CompletableFuture<Void> collection = CompletableFuture.runAsync(System::gc, HeldCallsTest::start);
        try {
            assertThat(collection).succeedsWithin(Duration.ofMinutes(5));
        } finally {
            emulator.tell("release 0");
        }
        held.join();
    }

    /** Starts a thread, as the common pool may have one alone. */
    private static void start(Runnable task) {
        Thread.ofPlatform().daemon().start(task);
    }

    @Test
    void loadingAKernel() {
        emulator.tell("allocations coupled", "op fill 1 hang");
        DeviceAddress memory = objects.memory(4);
        EmulatedGpus.ok(JCudaDriver.cuMemsetD8Async(memory, (byte) 1, 4, stream));
        collectDuring(() -> device.function(UPDATE), "calls cuModuleLoadDataEx");
    }

    @Test
    void launchingAnUpdate() {
        MemorySegment values = MemorySegment.ofAddress(objects.memory(16).value());
        ElementLaunch launch = new ElementLaunch();
        launch.add(values, values, values, 4);
        holdKernels();
        collectDuring(() -> launch.start(UPDATE, device, stream, 1, 0, 0, 0, 0), "hung");
    }

    @Test
    void launchingATrialOfPeerAccess() {
        TrialSide side = new TrialSide(device);
        holdKernels();
        collectDuring(() -> side.copyByKernel(side.sent(), side.sent()), "hung");
        side.free();
    }

    private void holdKernels() {
        emulator.tell("launches blocking", "op kernel 1 hang");
    }
}
