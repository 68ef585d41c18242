package dev.banyan.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.config.Config;
import dev.banyan.cuda.emulator.CudaEmulator;
import dev.banyan.cuda.emulator.EmulatedGpus;
import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.memory.Ranks;
import dev.banyan.cuda.internal.peer.PeerAccess;
import dev.banyan.cuda.internal.peer.PeerTrials;
import dev.banyan.cuda.internal.ptx.Element;
import dev.banyan.cuda.internal.ptx.Kernel;
import dev.banyan.cuda.type.PeerRule;
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
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import jcuda.Pointer;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.JCudaDriver;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Peer access that the driver grants and that does not work. */
class PeerTrialsTest {
    private static final Machine FOUR =
            Presets.find("p3.16xlarge").orElseThrow().subset(0, 1, 2, 3);
    /** The longest time of a trial. */
    private static final Duration TRIAL = Duration.ofSeconds(2);
    /** No collective of the tests calls it. */
    private static final String TRIAL_KERNEL = new Kernel.Reduce(ReduceOp.MAX, Element.I32, 2).name();
    /** More than kernels load from peers, and less. */
    private static final int[] COUNTS = {200_000, 1000};

    /** Spins until a word of the host is not 0. */
    private static final String SPINNING = """
        .version 6.3
        .target sm_70
        .address_size 64
        .visible .entry spin(.param .u64 word)
        {
        .reg .b64 %rd<1>;
        .reg .b32 %r<1>;
        .reg .pred %p<1>;
        ld.param.u64 %rd0, [word];
        $again:
        ld.relaxed.sys.global.u32 %r0, [%rd0];
        setp.eq.u32 %p0, %r0, 0;
        @%p0 bra $again;
        ret;
        }
        """;

    private final CudaEmulator emulator = EmulatedProcess.begin();
    private final FaultClock clock = new FaultClock(emulator);

    /** A copy from a device, and a kernel's load on it, take bytes over the two ways of a pair. */
    @ParameterizedTest
    @ValueSource(strings = {"corrupt 0 1", "corrupt 1 0", "stall 2 3", "stall 3 2"})
    void aPairThatDoesNotWorkGoesThroughTheHost(String trouble) {
        emulator.tell(trouble);
        assertSums();
        long kernels = trialKernels();
        assertThat(kernels).isPositive();
        assertSums();
        assertThat(trialKernels()).as("no trial in the same process again").isEqualTo(kernels);
        if (trouble.startsWith("stall")) {
            assertThat(emulator.count("bytes")).as("what the stuck trial holds").isPositive();
            emulator.tell("release 0");
            awaitFreeing(0);
        }
        assertThat(emulator.count("bytes")).isZero();
        assertThat(emulator.problems()).isEmpty();
    }

    private long trialKernels() {
        return emulator.count("kernels " + TRIAL_KERNEL) + emulator.count("kernels " + new Kernel.StoreTrial().name());
    }

    /**
     * The hung work ends soon after it is released, and its memory is freed when another backend is closed after that.
     */
    private void awaitFreeing(long others) {
        while (emulator.count("bytes") > others) {
            new CudaBackend(new int[] {2, 3}, FaultClock.TIMEOUT, PeerRule.ALL, 64 << 20).close();
        }
    }

    /** Calls of the driver for another trial could wait for the stuck one. */
    @Test
    void devicesOfAStuckTrialAreNotTriedAgain() {
        emulator.tell("stall 2 3");
        List<CudaDevice> devices =
                IntStream.range(0, 4).mapToObj(CudaDevice::new).toList();
        PeerTrials trials = new PeerTrials(FaultClock.TIMEOUT.toNanos(), true, clock);
        PeerAccess peers = new PeerAccess(Ranks.of(devices), PeerRule.ALL, trials);
        assertThat(peers.reaches(2, 3)).isFalse();
        List<Long> made = made();
        assertThat(emulator.count("modules"))
                .as("kernels before the first copy")
                .isEqualTo(2);
        assertThat(peers.reaches(3, 2)).isFalse();
        assertThat(peers.reaches(1, 2)).isFalse();
        assertThat(peers.reaches(3, 0)).isFalse();
        PeerTrials others = new PeerTrials(FaultClock.TIMEOUT.toNanos(), true, FaultClock.STOPPED);
        assertThat(new PeerAccess(Ranks.of(devices), PeerRule.ALL, others).reaches(0, 2))
                .as("of another backend")
                .isFalse();
        assertThat(made()).as("what trials made").isEqualTo(made);
        clock.goBy(Duration.ZERO);
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
        String enabling = "calls cuCtxEnablePeerAccess";
        PeerTrials trials = new PeerTrials(
                FaultClock.TIMEOUT.toNanos(), tries, () -> emulator.count(enabling) > 0 ? clock.getAsLong() : 0);
        PeerAccess peers = new PeerAccess(Ranks.of(devices), PeerRule.ALL, trials);
        assertThat(peers.reaches(0, 1)).as("behind hung work").isFalse();
        assertThat(trials.isBusy()).isTrue();
        long enablings = emulator.count(enabling);
        assertThat(peers.reaches(1, 0)).isFalse();
        assertThat(peers.reaches(3, 0)).isFalse();
        PeerTrials others = new PeerTrials(FaultClock.TIMEOUT.toNanos(), tries, FaultClock.STOPPED);
        PeerAccess ofAnother = new PeerAccess(Ranks.of(devices), PeerRule.ALL, others);
        assertThat(ofAnother.reaches(1, 2)).isFalse();
        assertThat(emulator.count(enabling)).isEqualTo(enablings);
        assertThat(ofAnother.reaches(2, 3)).as("elsewhere").isTrue();
        emulator.tell("release 0");
        while (trials.isBusy()) {
            Thread.onSpinWait();
        }
        others.free();
        devices.forEach(CudaDevice::close);
        assertThat(emulator.problems()).isEmpty();
    }

    /** A kernel of the caller fills a GPU while the communicator is made, so that no trial can begin there. */
    @Test
    void aPairWithABusyGpuIsTriedAgainWhenAPlanNeedsIt() {
        emulator.tell("devices 2 switched", "multiprocessors all 8");
        EmulatedGpus.enter(0);
        Pointer word = new Pointer();
        ByteBuffer released = EmulatedGpus.pinned(word, 4);
        released.putInt(0, 0);
        EmulatedGpus.ok(JCudaDriver.cuLaunchKernel(
                EmulatedGpus.function(SPINNING, "spin"),
                16,
                1,
                1,
                1024,
                1,
                1,
                0,
                EmulatedGpus.stream(),
                Pointer.to(Pointer.to(word)),
                null));
        AtomicLong nanos = new AtomicLong();
        LongSupplier passing = () -> released.getInt(0) != 0 || emulator.count("calls cuLaunchKernel") < 3
                ? nanos.get()
                : nanos.addAndGet(TRIAL.toNanos());
        Tuning tuning = Tuning.DEFAULT.by(passing).with(ExecutorChoice.KERNEL);
        try (CudaBackend backend =
                        new CudaBackend(new int[] {0, 1}, FaultClock.TIMEOUT, PeerRule.ALL, 64 << 20, tuning);
                Communicator gpus = Communicator.create(FOUR.subset(0, 1), Config.defaults(), backend)) {
            released.putInt(0, 1);
            while (backend.isBusy()) {
                Thread.onSpinWait();
            }
            gpus.run(CallersStreams.sum(gpus));
        }
        assertThat(emulator.count("kernels banyan_program")).isEqualTo(2);
        assertThat(trialKernels()).isEqualTo(4);
        assertThat(emulator.problems()).isEmpty();
    }

    @Test
    void aBackendWaitsForNoEnabling() {
        hangOnDeviceOne();
        long others = emulator.count("bytes");
        assertSums();
        assertThat(emulator.count("bytes")).as("kept for the enabling").isGreaterThan(others);
        emulator.tell("release 0");
        awaitFreeing(others);
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
        Config config =
                Config.builder().set(CudaBackendProvider.PEER_TRIAL, false).build();
        try (Backend backend = new CudaBackendProvider().open(FOUR, config, 0, 1, 2, 3)) {
            assertSums(backend);
        }
        assertThat(trialKernels()).isZero();
        assertSums();
        assertThat(trialKernels()).isPositive();
        assertThat(emulator.count("bytes")).isZero();
    }

    /** While work hangs, trials are late and collectives are not. */
    private void assertSums() {
        clock.goBy(TRIAL);
        try (CudaBackend backend = new CudaBackend(
                new int[] {0, 1, 2, 3}, FaultClock.TIMEOUT, PeerRule.ALL, 64 << 20, Tuning.DEFAULT.by(clock))) {
            assertSums(backend);
            clock.goBy(FaultClock.TIMEOUT);
        }
    }

    private static void assertSums(Backend backend) {
        Config config = Config.builder()
                .set(Planner.ALGORITHM, SizeRules.always(AlgorithmChoice.RING))
                .build();
        try (Communicator cuda = Communicator.create(FOUR, config, backend)) {
            for (int count : COUNTS) {
                int[] values = new int[count];
                Arrays.fill(values, 3);
                int[] sums = new int[count];
                Arrays.fill(sums, 12);
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
                    assertThat(values).isEqualTo(sums);
                }
            }
        }
    }
}
