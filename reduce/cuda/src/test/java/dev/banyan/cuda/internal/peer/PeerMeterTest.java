package dev.banyan.cuda.internal.peer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.cuda.EmulatedProcess;
import dev.banyan.cuda.FaultClock;
import dev.banyan.cuda.emulator.CudaEmulator;
import dev.banyan.cuda.internal.driver.CudaDevices;
import dev.banyan.cuda.internal.driver.PeerLink;
import dev.banyan.cuda.internal.peer.PairFigures.Outcome;
import dev.banyan.cuda.type.CudaException;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Timed copies on emulated machines that are sound, corrupt and stuck. */
class PeerMeterTest {
    private static final Duration PATIENCE = FaultClock.TIMEOUT;

    private final CudaEmulator emulator = EmulatedProcess.begin();

    @Test
    void aSoundMachineHasFiguresForEveryPair() {
        try (PeerMeter meter = new PeerMeter(List.of(0, 3, 5), 100_000, PATIENCE)) {
            for (int from = 0; from < 3; from++) {
                for (int to = 0; to < 3; to++) {
                    PairFigures figures = meter.measure(from, to);
                    boolean none = from != to && Math.max(from, to) == 2;
                    assertThat(figures.peer()).isEqualTo(none ? Outcome.NOT_GRANTED : Outcome.RIGHT);
                    assertThat(List.of(
                                    figures.gbs(),
                                    figures.bothGbs(),
                                    figures.latencyUs(),
                                    figures.hostGbs(),
                                    figures.hostBothGbs(),
                                    figures.hostLatencyUs()))
                            .allMatch(value -> value > 0);
                    if (none) {
                        assertThat(figures.gbs()).isEqualTo(figures.hostGbs());
                    }
                }
            }
        }
        assertThat(emulator.problems()).isEmpty();
        nothingIsLeft();
    }

    private void nothingIsLeft() {
        assertThat(List.of(
                        emulator.count("bytes"),
                        emulator.count("contexts"),
                        emulator.count("streams"),
                        emulator.count("events"),
                        emulator.count("host allocations")))
                .containsOnly(0L);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "cuStreamCreate 2",
                "cuEventCreate 2",
                "cuMemAlloc 3",
                "cuMemAlloc 4",
                "cuMemHostAlloc 3",
                "cuMemHostAlloc 4",
                "cuMemcpyHtoD 2"
            })
    void nothingIsLeftWhereAnAllocationFails(String call) {
        emulator.tell("fail " + call + " 2");
        assertThatThrownBy(() -> new PeerMeter(List.of(0, 1), 4096, PATIENCE))
                .isInstanceOf(CudaException.class)
                .hasMessageContaining("CUDA_ERROR_OUT_OF_MEMORY");
        nothingIsLeft();
    }

    @Test
    void wrongBytesAreSeenOnTheirWayAlone() {
        emulator.tell("corrupt 1 2");
        try (PeerMeter meter = new PeerMeter(List.of(1, 2), 4096, PATIENCE)) {
            assertThat(meter.measure(0, 1).peer()).isEqualTo(Outcome.WRONG_BYTES);
            assertThat(meter.measure(1, 0).peer()).isEqualTo(Outcome.RIGHT);
        }
    }

    @Test
    void aStuckCopyEndsTheTrialsOfItsDevicesAlone() {
        emulator.tell("stall 0 1");
        FaultClock clock = new FaultClock(emulator);
        try (PeerMeter meter = new PeerMeter(List.of(0, 1, 2, 3), 4096, FaultClock.TIMEOUT, clock)) {
            assertThat(meter.measure(0, 1).peer()).isEqualTo(Outcome.STUCK);
            clock.goBy(Duration.ZERO);
            assertThat(meter.measure(1, 2).peer()).isEqualTo(Outcome.NOT_TRIED);
            assertThat(meter.measure(2, 3).peer()).isEqualTo(Outcome.RIGHT);
        } finally {
            emulator.tell("release 0");
        }
    }

    @Test
    void cudaTellsAccessAndRank() {
        assertThat(CudaDevices.peer(0, 3)).isEqualTo(new PeerLink(true, 0));
        assertThat(CudaDevices.peer(0, 1)).isEqualTo(new PeerLink(true, 1));
        assertThat(CudaDevices.peer(0, 5).access()).isFalse();
    }

    @Test
    void nonsenseIsRefused() {
        assertThatThrownBy(() -> new PeerMeter(List.of(0), 1, PATIENCE))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("at least 16 bytes");
        assertThatThrownBy(() -> new PeerMeter(List.of(0, 9), 64, PATIENCE)).isInstanceOf(CudaException.class);
    }
}
