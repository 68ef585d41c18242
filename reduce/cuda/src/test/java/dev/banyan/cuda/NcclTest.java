package dev.banyan.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.config.Config;
import dev.banyan.cuda.emulator.CudaEmulator;
import dev.banyan.cuda.emulator.NcclStandIn;
import dev.banyan.cuda.type.PeerRule;
import dev.banyan.nccl.internal.NcclLibrary;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.backend.CollectiveTimeoutException;
import dev.banyan.reduce.backend.NcclRequest;
import dev.banyan.reduce.internal.host.HostBackend;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.Algorithms;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.plan.Platform;
import dev.banyan.schedule.plan.SizeRules;
import dev.banyan.schedule.plan.Tuning;
import dev.banyan.schedule.plan.TuningFile;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Presets;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** NCCL in place of schedules, on the emulated driver, by a stand-in for its library that moves real bytes. */
class NcclTest {
    private static final int RANKS = 4;
    private static final Machine MACHINE =
            Presets.find("p3.16xlarge").orElseThrow().subset(0, 1, 2, 3);

    @TempDir
    private Path folder;

    private final CudaEmulator emulator = EmulatedProcess.begin();
    private final NcclStandIn nccl = NcclStandIn.load();

    private Config.Builder settings() {
        return Config.builder().set(NcclLibrary.FILE, nccl.file()).set(Communicator.TIMEOUT, FaultClock.TIMEOUT);
    }

    private Config named() {
        return settings()
                .set(Planner.ALGORITHM, SizeRules.always(AlgorithmChoice.NCCL))
                .build();
    }

    private static Communicator on(Config config, int... devices) {
        return Communicator.onGpus(
                MACHINE.subset(IntStream.range(0, devices.length).toArray()), config, devices);
    }

    private Communicator four(Config config) {
        return on(config, 0, 1, 2, 3);
    }

    private static List<MemorySegment> ints(Communicator gpus, int count) {
        List<MemorySegment> buffers = new ArrayList<>();
        for (int rank = 0; rank < gpus.size(); rank++) {
            MemorySegment memory = gpus.allocate(rank, 4L * count);
            gpus.copyToDevice(
                    memory,
                    MemorySegment.ofArray(
                            IntStream.range(0, count).map(i -> i + 1).toArray()));
            buffers.add(memory);
        }
        return buffers;
    }

    private static CollectiveCall sum(List<MemorySegment> buffers) {
        return CollectiveCall.allReduce(buffers, buffers.getFirst().byteSize() / 4, DataType.I32, ReduceOp.SUM);
    }

    private static int[] read(Communicator gpus, MemorySegment buffer) {
        int[] values = new int[(int) buffer.byteSize() / 4];
        gpus.copyToHost(buffer, MemorySegment.ofArray(values));
        return values;
    }

    /** Kernels of NCCL and of programs wait for their peers, whichever communicator launches them. */
    @Test
    void callsWaitForTheLastCallOfAnotherCommunicatorOnEachGpu() {
        try (Communicator byNccl = four(named());
                Communicator byPrograms = four(settings()
                        .set(CudaBackendProvider.EXECUTOR, ExecutorChoice.KERNEL)
                        .set(Planner.ALGORITHM, SizeRules.always(AlgorithmChoice.RING))
                        .build())) {
            CollectiveCall first = sum(ints(byNccl, 100));
            CollectiveCall second = sum(ints(byPrograms, 100));
            byNccl.run(first);
            long ofNccl = waits(byNccl, first);
            assertThat(waits(byPrograms, second)).isEqualTo(RANKS);
            assertThat(waits(byPrograms, second)).isZero();
            assertThat(waits(byNccl, first)).isEqualTo(ofNccl + RANKS);
        }
    }

    /** Returns for how many events streams wait in a call. */
    private long waits(Communicator gpus, CollectiveCall call) {
        long before = emulator.count("calls cuStreamWaitEvent");
        gpus.run(call);
        return emulator.count("calls cuStreamWaitEvent") - before;
    }

    /** The stand-in adds up in the order of ranks, as an allreduce by a star around the first rank does. */
    @ParameterizedTest
    @EnumSource(Collective.class)
    void everyTypeAndOperationGivesWhatTheHostGives(Collective collective) {
        long[] counts = {0, 1, 3, 257, 4099};
        Config star = Config.builder()
                .set(Planner.ALGORITHM, SizeRules.always(AlgorithmChoice.STAR))
                .set(HostBackend.THREADS, 1)
                .build();
        HostComparison comparison =
                new HostComparison(new SplittableRandom(collective.label().hashCode()));
        long ran = 0;
        try (Communicator host = Communicator.onHost(MACHINE, star);
                Communicator gpus = four(named())) {
            int turn = 0;
            for (DataType type : DataType.values()) {
                for (ReduceOp op : collective.reduces() ? ReduceOp.values() : new ReduceOp[] {ReduceOp.SUM}) {
                    // Half types are rounded once by the host and by the stand-in; NCCL has no mean of integers.
                    if (op == ReduceOp.AVG && !type.isFloating()) {
                        continue;
                    }
                    // The host adds up in another order if the root is not the first rank.
                    if (type.isFloating()
                            && collective != Collective.ALL_REDUCE
                            && (op == ReduceOp.SUM || op == ReduceOp.AVG || op == ReduceOp.PROD)) {
                        continue;
                    }
                    for (boolean inPlace : new boolean[] {true, false}) {
                        long count = counts[turn % counts.length];
                        ran += count > 0 ? 1 : 0;
                        comparison.compare(
                                host, gpus, collective, type, op, inPlace, count, turn++ % 3 == 0 ? type.bytes() : 0);
                    }
                }
            }
        }
        assertThat(nccl.count("collectives")).isEqualTo(ran);
        assertThat(nccl.count("inits")).as("one set of communicators").isEqualTo(1);
        assertThat(nccl.count("destroys")).isEqualTo(RANKS);
        assertThat(emulator.problems()).isEmpty();
    }

    @Test
    void callsOfNcclAndOfSchedulesHaveOneOrder() {
        Config both = settings()
                .set(Planner.ALGORITHM, SizeRules.parse("nccl:400,ring:4000,nccl"))
                .build();
        try (Communicator gpus = four(both)) {
            List<MemorySegment> buffers = ints(gpus, 2000);
            List<CollectiveCall> calls = new ArrayList<>();
            for (int round = 0; round < 3; round++) {
                for (int count : new int[] {100, 1000, 2000}) {
                    calls.add(sum(buffers.stream()
                            .map(buffer -> buffer.asSlice(0, 4L * count))
                            .toList()));
                }
            }
            gpus.runAll(calls);
            int fourToThe9 = 1 << 18;
            int fourToThe6 = 1 << 12;
            int fourToThe3 = 1 << 6;
            for (MemorySegment buffer : buffers) {
                int[] values = read(gpus, buffer);
                assertThat(values[99]).isEqualTo(100 * fourToThe9);
                assertThat(values[999]).isEqualTo(1000 * fourToThe6);
                assertThat(values[1999]).isEqualTo(2000 * fourToThe3);
            }
            assertThat(nccl.count("collectives")).isEqualTo(6);
        }
        assertThat(emulator.problems()).isEmpty();
    }

    @Test
    void aCallTakesItsPlaceInTheCallersStreams() {
        CallersStreams streams =
                new CallersStreams(emulator, IntStream.range(0, RANKS).toArray());
        try (Communicator gpus = four(named())) {
            CollectiveCall call = CallersStreams.sum(gpus);
            gpus.run(call);
            streams.checkOrder(gpus, call);
            assertThat(nccl.count("collectives")).isEqualTo(2);
        }
        assertThat(emulator.problems()).isEmpty();
        emulator.reset();
    }

    @Test
    void anAsynchronousErrorEndsTheCallAndBreaksTheCommunicator() {
        try (Communicator gpus = four(named())) {
            List<MemorySegment> buffers = ints(gpus, 100);
            gpus.run(sum(buffers));
            nccl.tell("async 2 3");
            assertThatThrownBy(() -> gpus.run(sum(buffers)))
                    .hasMessageContaining(
                            "all_reduce by nccl failed: NCCL reports of rank 2: internal error (as the test"
                                    + " has told); NCCL_DEBUG=INFO says more; create a new communicator");
            assertThatThrownBy(() -> gpus.run(sum(buffers))).hasMessageContaining("all_reduce by nccl failed");
        }
        assertThat(nccl.count("aborts")).isEqualTo(RANKS);
        assertThat(nccl.count("destroys")).as("what was aborted is gone").isZero();
    }

    @Test
    void aCallThatHangsTimesOutAndIsAborted() {
        AtomicLong step = new AtomicLong();
        AtomicLong nanos = new AtomicLong();
        var tuning = dev.banyan.cuda.Tuning.DEFAULT.withNcclLibrary(nccl.file()).by(() -> nanos.addAndGet(step.get()));
        try (CudaBackend backend =
                        new CudaBackend(new int[] {0, 1, 2, 3}, FaultClock.TIMEOUT, PeerRule.ALL, 64 << 20, tuning);
                Communicator gpus = Communicator.create(MACHINE, named(), backend)) {
            List<MemorySegment> buffers = ints(gpus, 100);
            nccl.tell("hang");
            step.set(FaultClock.TIMEOUT.toNanos());
            assertThatThrownBy(() -> gpus.run(sum(buffers)))
                    .isInstanceOf(CollectiveTimeoutException.class)
                    .hasMessageContaining("all_reduce by nccl did not end within 2592000000 ms");
        }
        assertThat(nccl.count("aborts")).isEqualTo(RANKS);
    }

    @Test
    void whatCannotBeLaunchedIsAborted() {
        try (Communicator gpus = four(named())) {
            List<MemorySegment> buffers = ints(gpus, 100);
            gpus.run(sum(buffers));
            nccl.tell("refuse ncclAllReduce 5");
            assertThatThrownBy(() -> gpus.run(sum(buffers)))
                    .hasMessageContaining(
                            "all_reduce by nccl cannot be launched: ncclAllReduce of rank 0: invalid usage");
        }
    }

    @Test
    void aMissingLibraryIsOneSentence() {
        Config missing = Config.builder()
                .set(NcclLibrary.FILE, "/no/such/libnccl.so.2")
                .set(Planner.ALGORITHM, SizeRules.always(AlgorithmChoice.NCCL))
                .build();
        try (Communicator gpus = four(missing)) {
            List<MemorySegment> buffers = ints(gpus, 10);
            for (int round = 0; round < 2; round++) {
                assertThatThrownBy(() -> gpus.run(sum(buffers)))
                        .isInstanceOf(UnsupportedOperationException.class)
                        .hasMessage("BANYAN_NCCL_LIBRARY=/no/such/libnccl.so.2 is no file; name NCCL's libnccl.so.2 or"
                                + " unset it");
            }
        }
        try (Communicator host = Communicator.onHost(MACHINE, named())) {
            List<MemorySegment> buffers = IntStream.range(0, RANKS)
                    .mapToObj(rank -> host.allocate(rank, 40))
                    .toList();
            assertThatThrownBy(() -> host.run(sum(buffers)))
                    .isInstanceOf(UnsupportedOperationException.class)
                    .hasMessage("the backend host has no NCCL, which runs on GPUs; name another algorithm than nccl");
        }
    }

    @Test
    void whatNcclCannotDoIsRefusedWithTheReason() {
        NcclRequest mean = new NcclRequest(Collective.ALL_REDUCE, -1, 8, DataType.I32, ReduceOp.AVG, true);
        NcclRequest floats = new NcclRequest(Collective.ALL_REDUCE, -1, 8, DataType.F32, ReduceOp.AVG, true);
        NcclRequest brain = new NcclRequest(Collective.BROADCAST, 0, 8, DataType.BF16, ReduceOp.SUM, true);
        try (CudaBackend backend = backend(0, 1)) {
            assertThat(backend.refusal(mean)).contains("no mean");
            assertThat(backend.refusal(floats)).isNull();
            assertThat(backend.refusal(brain)).isNull();
        }
        nccl.tell("version 2804");
        try (CudaBackend backend = backend(0, 1)) {
            assertThat(backend.refusal(floats)).startsWith("NCCL 2.8.4 has no avg");
            assertThat(backend.refusal(brain)).startsWith("NCCL 2.8.4 has no bfloat16");
        }
        try (CudaBackend backend = backend(0, 0)) {
            assertThat(backend.refusal(brain)).contains("several ranks share a device");
        }
        nccl.tell("reset", "refuse ncclCommInitAll 1");
        try (CudaBackend backend = backend(0, 1)) {
            assertThat(backend.refusal(brain))
                    .isEqualTo("ncclCommInitAll of 2 devices: unhandled cuda error; NCCL_DEBUG=INFO says more")
                    .isEqualTo(backend.refusal(floats));
        }
    }

    private CudaBackend backend(int... devices) {
        return (CudaBackend) Communicator.gpuBackend(MACHINE, settings().build(), devices);
    }

    /** Settings whose tuning file has NCCL for small allreduces on the platform of a backend. */
    private Config tuned(Config.Builder settings) throws IOException {
        Platform platform;
        try (CudaBackend backend = backend(0, 1, 2, 3)) {
            platform = backend.platform();
        }
        Tuning tuning = Tuning.of(platform, MACHINE, Map.of(Collective.ALL_REDUCE, SizeRules.parse("nccl:1K,ring")));
        Path file = Files.write(
                folder.resolve("tuned.ini"), TuningFile.EMPTY.with(tuning).lines());
        return settings.set(Config.TUNING, file).build();
    }

    private static List<MemorySegment> floats(Communicator gpus, int count) {
        List<MemorySegment> buffers = new ArrayList<>();
        for (int rank = 0; rank < gpus.size(); rank++) {
            buffers.add(gpus.allocate(rank, 4L * count));
        }
        return buffers;
    }

    @Test
    void theAutomaticChoiceTakesNcclWhereItWasTuned() throws IOException {
        try (Communicator gpus = four(tuned(settings()))) {
            List<MemorySegment> buffers = ints(gpus, 1000);
            gpus.run(sum(buffers.stream().map(buffer -> buffer.asSlice(0, 1024)).toList()));
            assertThat(nccl.count("collectives")).isEqualTo(1);
            gpus.run(sum(buffers));
            assertThat(nccl.count("collectives")).as("above 1 KiB").isEqualTo(1);
            assertThat(read(gpus, buffers.getFirst())[0]).isEqualTo(16);
            List<MemorySegment> floats = floats(gpus, 16);
            gpus.run(CollectiveCall.allReduce(floats, 16, DataType.F32, ReduceOp.MAX));
            assertThat(nccl.count("collectives"))
                    .as("NCCL promises nothing of NaN")
                    .isEqualTo(1);
        }
    }

    /** A tuned NCCL that is not there, or gives other sums than were asked for, is passed over. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void whereNcclIsNotPossibleTheAutomaticChoiceGoesOn(boolean reproducible) throws IOException {
        Config config = tuned(
                reproducible
                        ? settings().set(Algorithms.REPRODUCIBLE, true)
                        : Config.builder().set(NcclLibrary.FILE, "/no/such/libnccl.so.2"));
        try (Communicator gpus = four(config)) {
            List<MemorySegment> buffers = floats(gpus, 16);
            MemorySegment ones = Arena.ofAuto().allocate(64, 4);
            for (int i = 0; i < 16; i++) {
                ones.setAtIndex(ValueLayout.JAVA_FLOAT, i, 1);
            }
            buffers.forEach(buffer -> gpus.copyToDevice(buffer, ones));
            gpus.run(CollectiveCall.allReduce(buffers, 16, DataType.F32, ReduceOp.SUM));
            float[] sums = new float[16];
            gpus.copyToHost(buffers.getLast(), MemorySegment.ofArray(sums));
            assertThat(sums).containsOnly(RANKS);
        }
        assertThat(nccl.count("collectives")).isZero();
    }
}
