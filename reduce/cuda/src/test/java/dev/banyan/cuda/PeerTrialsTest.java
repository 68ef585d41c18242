package dev.banyan.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.config.Config;
import dev.banyan.cuda.emulator.CudaEmulator;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.backend.Backend;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.plan.SizeRules;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Presets;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.JCudaDriver;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Peer access that the driver grants and that does not work. */
@Timeout(value = 60, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class PeerTrialsTest {
    private static final Machine FOUR =
            Presets.find("p3.16xlarge").orElseThrow().subset(0, 1, 2, 3);
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    /** More than kernels load from peers, and less. */
    private static final int[] COUNTS = {200_000, 1000};

    private final CudaEmulator emulator = EmulatedGpus.driver();

    /** A copy from a device, and a kernel's load on it, take bytes over the two ways of a pair. */
    @ParameterizedTest
    @ValueSource(strings = {"corrupt 0 1", "corrupt 1 0", "stall 2 3", "stall 3 2"})
    void aPairThatDoesNotWorkGoesThroughTheHost(String trouble) {
        emulator.tell(trouble);
        EmulatedGpus.within(PATIENCE, () -> assertSums(Config.builder()));
        long kernels = emulator.count("kernels");
        EmulatedGpus.within(PATIENCE, () -> assertSums(Config.builder()));
        assertThat(emulator.count("kernels") - kernels)
                .as("no trial in the same process again")
                .isEqualTo(runsOnce());
        if (trouble.startsWith("stall")) {
            assertThat(emulator.count("bytes")).as("what the stuck trial holds").isPositive();
            emulator.tell("release 0");
            while (emulator.count("bytes") > 0) {
                new CudaBackend(new int[] {2, 3}, PATIENCE, PeerRule.ALL, 64 << 20).close();
            }
        }
        assertThat(emulator.count("bytes")).isZero();
        assertThat(emulator.problems()).isEmpty();
    }

    /** Kernels of the same collectives where nothing is tried. */
    private long runsOnce() {
        long kernels = emulator.count("kernels");
        EmulatedGpus.within(PATIENCE, () -> assertSums(Config.builder().set(CudaBackendProvider.PEER_ACCESS, false)));
        return emulator.count("kernels") - kernels;
    }

    /** Calls of the driver for another trial could wait for the stuck one. */
    @Test
    void devicesOfAStuckTrialAreNotTriedAgain() {
        emulator.tell("stall 2 3");
        List<CudaDevice> devices =
                IntStream.range(0, 4).mapToObj(CudaDevice::new).toList();
        PeerTrials trials = new PeerTrials(Duration.ofMillis(200).toNanos(), true);
        PeerAccess peers = new PeerAccess(Ranks.of(devices), PeerRule.ALL, trials);
        assertThat(peers.reaches(2, 3)).isFalse();
        List<Long> made = made();
        assertThat(emulator.count("modules"))
                .as("kernels before the first copy")
                .isEqualTo(2);
        assertThat(peers.reaches(3, 2)).isFalse();
        assertThat(peers.reaches(1, 2)).isFalse();
        assertThat(peers.reaches(3, 0)).isFalse();
        PeerTrials others = new PeerTrials(PATIENCE.toNanos(), true);
        assertThat(new PeerAccess(Ranks.of(devices), PeerRule.ALL, others).reaches(0, 2))
                .as("of another backend")
                .isFalse();
        assertThat(made()).as("what trials made").isEqualTo(made);
        assertThat(peers.reaches(0, 1)).isTrue();
        emulator.tell("release 0");
        while (trials.isBusy()) {
            Thread.onSpinWait();
        }
        trials.free();
        devices.forEach(CudaDevice::close);
        assertThat(emulator.count("contexts")).isZero();
        assertThat(emulator.problems()).isEmpty();
    }

    /** Work of somebody else, for which the driver may wait before it enables access. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void accessThatIsNotEnabledInTimeIsNotUsed(boolean tries) {
        hangOnDeviceOne();
        List<CudaDevice> devices =
                IntStream.range(0, 4).mapToObj(CudaDevice::new).toList();
        PeerTrials trials = new PeerTrials(Duration.ofMillis(200).toNanos(), tries);
        PeerAccess peers = new PeerAccess(Ranks.of(devices), PeerRule.ALL, trials);
        EmulatedGpus.within(
                PATIENCE,
                () -> assertThat(peers.reaches(0, 1)).as("behind hung work").isFalse());
        assertThat(trials.isBusy()).isTrue();
        long enablings = emulator.count("calls cuCtxEnablePeerAccess");
        assertThat(peers.reaches(1, 0)).isFalse();
        assertThat(peers.reaches(3, 0)).isFalse();
        PeerTrials others = new PeerTrials(PATIENCE.toNanos(), tries);
        PeerAccess ofAnother = new PeerAccess(Ranks.of(devices), PeerRule.ALL, others);
        assertThat(ofAnother.reaches(1, 2)).isFalse();
        assertThat(emulator.count("calls cuCtxEnablePeerAccess")).isEqualTo(enablings);
        assertThat(ofAnother.reaches(2, 3)).as("elsewhere").isTrue();
        emulator.tell("release 0");
        while (trials.isBusy()) {
            Thread.onSpinWait();
        }
        others.free();
        devices.forEach(CudaDevice::close);
        assertThat(emulator.problems()).isEmpty();
    }

    @Test
    void aBackendWaitsForNoEnabling() {
        hangOnDeviceOne();
        long others = emulator.count("bytes");
        EmulatedGpus.within(PATIENCE, () -> assertSums(Config.builder()));
        assertThat(emulator.count("bytes")).as("kept for the enabling").isGreaterThan(others);
        emulator.tell("release 0");
        while (emulator.count("bytes") > others) {
            new CudaBackend(new int[] {2, 3}, PATIENCE, PeerRule.ALL, 64 << 20).close();
        }
        assertThat(emulator.problems()).isEmpty();
    }

    private void hangOnDeviceOne() {
        EmulatedGpus.enter(1);
        CUdeviceptr memory = EmulatedGpus.holding(1, 2);
        emulator.tell("enables wait", "op copy 1 hang");
        EmulatedGpus.ok(JCudaDriver.cuMemcpyDtoDAsync(EmulatedGpus.at(memory, 4), memory, 4, EmulatedGpus.stream()));
    }

    private List<Long> made() {
        return Stream.of("allocations", "host allocations", "streams", "modules", "copies")
                .map(emulator::count)
                .toList();
    }

    @Test
    void theTrialIsLeftOutOnDemand() {
        assertSums(Config.builder().set(CudaBackendProvider.PEER_TRIAL, false));
        long believed = emulator.count("kernels");
        assertSums(Config.builder());
        assertThat(emulator.count("kernels") - believed).isGreaterThan(believed);
        assertThat(emulator.count("bytes")).isZero();
    }

    private void assertSums(Config.Builder builder) {
        Config config = builder.set(Planner.ALGORITHM, SizeRules.always(AlgorithmChoice.RING))
                .set(Communicator.TIMEOUT, Duration.ofSeconds(2))
                .build();
        try (Backend backend = new CudaBackendProvider().open(FOUR, config, 0, 1, 2, 3);
                Communicator cuda = Communicator.create(FOUR, config, backend)) {
            for (int count : COUNTS) {
                int[] values = new int[count];
                Arrays.fill(values, 3);
                List<MemorySegment> buffers = IntStream.range(0, 4)
                        .mapToObj(rank -> {
                            MemorySegment buffer = cuda.allocate(rank, 4L * count);
                            cuda.copyToDevice(buffer, MemorySegment.ofArray(values));
                            return buffer;
                        })
                        .toList();
                cuda.allReduce(buffers, count, DataType.I32, ReduceOp.SUM);
                for (MemorySegment buffer : buffers) {
                    cuda.copyToHost(buffer, MemorySegment.ofArray(values));
                    assertThat(values).containsOnly(12);
                }
            }
        }
    }
}
