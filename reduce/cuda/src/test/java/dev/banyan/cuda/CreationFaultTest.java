package dev.banyan.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.banyan.cuda.emulator.CudaEmulator;
import dev.banyan.cuda.emulator.EmulatedGpus;
import dev.banyan.cuda.type.CudaException;
import dev.banyan.cuda.type.PeerRule;
import dev.banyan.reduce.backend.CollectiveTimeoutException;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.JCudaDriver;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The creation of a backend ends by its deadline, whatever hangs or fails in it. */
class CreationFaultTest {
    private static final long LIMIT = 64 << 20;

    private final CudaEmulator emulator = EmulatedProcess.begin();

    /** The number of creations that ended in a timeout. */
    private int late;

    @Test
    void creationEndsWhereADeviceHangsInAnyOfItsWork() {
        int number = 1;
        while (hangs(number)) {
            number++;
        }
        assertThat(late).as("work of creation").isGreaterThan(2);
    }

    @Test
    void creationThatFailsWhereADeviceHangsEndsToo() {
        failRandomly(1, 12);
    }

    @Test
    @Tag("soak")
    void creationThatFailsWhereADeviceHangsEndsWith200RandomFailures() {
        failRandomly(100, 200);
    }

    /** Lets one operation of creation hang. Returns whether there is such an operation. */
    private boolean hangs(int number) {
        emulator.tell("op any " + number + " hang");
        Throwable thrown = catchThrowable(() -> backend(0, 1).close());
        boolean hung = emulator.count("hung") > 0;
        if (hung) {
            // A trial of peer access that does not end keeps no backend from being made.
            if (thrown != null) {
                late++;
                assertThat(thrown)
                        .as("operation %d", number)
                        .isInstanceOf(CollectiveTimeoutException.class)
                        .hasMessageMatching("a copy to or from device [01] did not end within .*");
            }
            emulator.tell("release 0");
            // The hung work ends at some time after its release, and its memory is freed when a later backend is made
            // or closed.
            do {
                backend(0, 1).close();
            } while (emulator.count("bytes") > 0);
            for (String kind : List.of("contexts", "streams", "events", "modules", "host allocations")) {
                assertThat(emulator.count(kind))
                        .as("operation %d: %s", number, kind)
                        .isZero();
            }
        } else {
            assertThat(thrown).isNull();
        }
        EmulatedProcess.beginAnother(emulator);
        return hung;
    }

    /** Work of others hangs on a device, so that the driver frees nothing there, and a call of creation fails. */
    private void failRandomly(int first, int count) {
        for (int seed = first; seed < first + count; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            int[] ordinals = IntStream.range(0, random.nextInt(1, 9)).toArray();
            EmulatedGpus.enter(random.nextInt(ordinals.length));
            CUdeviceptr memory = EmulatedGpus.allocate(64);
            emulator.tell("op any 1 hang");
            EmulatedGpus.ok(JCudaDriver.cuMemsetD8Async(memory, (byte) 1, 64, EmulatedGpus.stream()));
            while (emulator.count("hung") == 0) {
                Thread.onSpinWait();
            }
            emulator.tell("fail * " + random.nextInt(1, 30 * ordinals.length) + " 2");
            assertThat(catchThrowable(() -> backend(ordinals).close()))
                    .as("seed %d", seed)
                    .satisfiesAnyOf(
                            thrown -> assertThat(thrown).isNull(),
                            thrown -> assertThat(thrown).isInstanceOf(CudaException.class),
                            thrown -> assertThat(thrown).isInstanceOf(CollectiveTimeoutException.class));
            emulator.tell("release 0");
            EmulatedProcess.beginAnother(emulator);
        }
    }

    private CudaBackend backend(int... ordinals) {
        return new CudaBackend(
                ordinals, FaultClock.TIMEOUT, PeerRule.ALL, LIMIT, Tuning.DEFAULT.by(new FaultClock(emulator)));
    }
}
