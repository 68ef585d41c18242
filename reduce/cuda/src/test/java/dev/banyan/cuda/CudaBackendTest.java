package dev.banyan.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.config.Config;
import dev.banyan.cuda.emulator.CudaEmulator;
import dev.banyan.cuda.emulator.EmulatedGpus;
import dev.banyan.cuda.internal.driver.CudaDevices;
import dev.banyan.cuda.internal.graph.GraphCache;
import dev.banyan.cuda.internal.graph.Moves;
import dev.banyan.cuda.type.CudaException;
import dev.banyan.cuda.type.PeerRule;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.backend.Backend;
import dev.banyan.reduce.internal.host.HostBackend;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.plan.SizeRules;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.Device;
import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;
import dev.banyan.topology.NoPeerAccess;
import dev.banyan.topology.Presets;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUpointer_attribute;
import jcuda.driver.CUstream;
import jcuda.driver.JCudaDriver;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The CUDA backend on an emulated p3.16xlarge gives what the host backend gives. */
class CudaBackendTest {
    private static final Duration PATIENCE = FaultClock.TIMEOUT;
    private static final long MEBIBYTE = 1 << 20;
    /** Short pieces, few places, and never a load from a peer. */
    private static final Tuning COPIES =
            new Tuning(new Moves(512, 64, 2, 0), GraphCache.MOST_NODES, FaultClock.STOPPED, true);

    private static final Tuning DEFAULT = Tuning.DEFAULT.by(FaultClock.STOPPED);
    private static final Tuning GRAPHS = DEFAULT.with(ExecutorChoice.GRAPH);

    private final CudaEmulator emulator = EmulatedProcess.begin();
    private final SplittableRandom random = new SplittableRandom(7);
    private final HostComparison comparison = new HostComparison(random);

    @AfterEach
    void nothingWentWrongUnseen() {
        assertThat(emulator.problems()).isEmpty();
    }

    @ParameterizedTest
    @EnumSource(
            value = AlgorithmChoice.class,
            names = {"AUTO", "NCCL"},
            mode = EnumSource.Mode.EXCLUDE)
    void kindsOfCallsGiveTheBitsOfTheHost(AlgorithmChoice algorithm) {
        run(
                algorithm,
                (host, first, second) -> comparison.comparePairs(
                        host,
                        first,
                        second,
                        RandomChoices.ALGORITHMS.indexOf(algorithm),
                        RandomChoices.ALGORITHMS.size()));
    }

    @ParameterizedTest
    @Tag("soak")
    @EnumSource(
            value = AlgorithmChoice.class,
            names = {"AUTO", "NCCL"},
            mode = EnumSource.Mode.EXCLUDE)
    void everyKindOfCallGivesTheBitsOfTheHost(AlgorithmChoice algorithm) {
        run(algorithm, (host, first, second) -> comparison.compareKinds(host, first, second, algorithm.ordinal()));
    }

    /** Compares calls on the host and on two communicators on GPUs. */
    private interface Comparing {
        void run(Communicator host, Communicator first, Communicator second);
    }

    private void run(AlgorithmChoice algorithm, Comparing comparing) {
        Machine machine = Presets.find("p3.16xlarge").orElseThrow();
        Config config = Config.builder()
                .set(Planner.ALGORITHM, SizeRules.always(algorithm))
                .set(HostBackend.THREADS, 1)
                .build();
        int[] devices = IntStream.range(0, 8).toArray();
        try (CudaBackend direct = new CudaBackend(devices, PATIENCE, PeerRule.ALL, 64 * MEBIBYTE, GRAPHS);
                CudaBackend copying = new CudaBackend(devices, PATIENCE, PeerRule.ALL, 64 * MEBIBYTE, COPIES);
                Communicator host = Communicator.onHost(machine, config);
                Communicator first = Communicator.create(machine, config, direct);
                Communicator second = Communicator.create(machine, config, copying)) {
            comparing.run(host, first, second);
        }
        nothingIsLeft();
    }

    @Test
    void ranksMayShareDevices() {
        Machine machine = Presets.find("p3.16xlarge").orElseThrow().subset(0, 1, 2, 3);
        Config config = Config.builder()
                .set(Planner.ALGORITHM, SizeRules.always(AlgorithmChoice.MULTI_TREE))
                .set(HostBackend.THREADS, 1)
                .build();
        try (CudaBackend backend =
                        new CudaBackend(new int[] {0, 0, 5, 0}, PATIENCE, PeerRule.ALL, 64 * MEBIBYTE, DEFAULT);
                Communicator host = Communicator.onHost(machine, config);
                Communicator cuda = Communicator.create(machine, config, backend)) {
            for (Collective collective : Collective.values()) {
                comparison.compare(host, cuda, collective, DataType.BF16, ReduceOp.AVG, false, 100_003, 2);
            }
        }
        nothingIsLeft();
    }

    @Test
    void withoutPeerAccessDataGoesThroughTheHost() {
        Machine machine = Presets.find("p3.16xlarge").orElseThrow();
        Config config = Config.builder()
                .set(Planner.ALGORITHM, SizeRules.always(AlgorithmChoice.RING))
                .set(HostBackend.THREADS, 1)
                .build();
        int[] devices = IntStream.range(0, 8).toArray();
        try (CudaBackend backend = new CudaBackend(devices, PATIENCE, PeerRule.NONE, 64 * MEBIBYTE, COPIES);
                Communicator host = Communicator.onHost(machine, config);
                Communicator cuda = Communicator.create(machine, config, backend)) {
            for (Collective collective : Collective.values()) {
                comparison.compare(host, cuda, collective, DataType.F32, ReduceOp.SUM, true, 10_001, 0);
                comparison.compare(host, cuda, collective, DataType.I64, ReduceOp.AVG, false, 1001, 8);
            }
        }
        assertThat(emulator.count("peer copies")).isZero();
        nothingIsLeft();
    }

    /** A star has more peers than a device may have without NVSwitches. */
    @ParameterizedTest
    @ValueSource(strings = {"devices 12", "devices 12 switched"})
    void pairsBeyondTheDriversLimitGoThroughTheHost(String devices) {
        emulator.tell(devices);
        Machine machine = Presets.find("dgx-2")
                .orElseThrow()
                .subset(IntStream.range(0, 12).toArray());
        Config config = Config.builder()
                .set(Planner.ALGORITHM, SizeRules.always(AlgorithmChoice.STAR))
                .set(HostBackend.THREADS, 1)
                .build();
        int[] ordinals = IntStream.range(0, 12).toArray();
        try (CudaBackend backend = new CudaBackend(ordinals, PATIENCE, PeerRule.ALL, 64 * MEBIBYTE, COPIES);
                Communicator host = Communicator.onHost(machine, config);
                Communicator cuda = Communicator.create(machine, config, backend)) {
            comparison.compare(host, cuda, Collective.ALL_REDUCE, DataType.F32, ReduceOp.SUM, true, 10_001, 0);
            comparison.compare(host, cuda, Collective.BROADCAST, DataType.F32, ReduceOp.SUM, false, 10_001, 0);
        }
        nothingIsLeft();
    }

    /** Returns descriptions of the first emulated devices, with their bus ids. */
    private static List<Device> devices(int count) {
        List<String> busIds = CudaDevices.busIds();
        return IntStream.range(0, count)
                .mapToObj(i -> new Device("GPU" + i, busIds.get(i), -1, Map.of()))
                .toList();
    }

    @Test
    void pairsThatTheMachineKeepsApartGoThroughTheHost() {
        List<Device> devices = devices(2);
        Link link = Link.duplex(0, 1, Link.Kind.NVLINK, 1, 25, 1.8);
        Machine machine =
                NoPeerAccess.mark(new Machine("pair", devices, List.of(), List.of(link), List.of(), List.of()), 0, 1);
        Config config = Config.builder()
                .set(Planner.ALGORITHM, SizeRules.always(AlgorithmChoice.RING))
                .set(HostBackend.THREADS, 1)
                .build();
        try (Backend backend = Communicator.gpuBackend(machine, config, 0, 1);
                Communicator host = Communicator.onHost(machine, config);
                Communicator cuda = Communicator.create(machine, config, backend)) {
            comparison.compare(host, cuda, Collective.ALL_REDUCE, DataType.F32, ReduceOp.SUM, true, 10_001, 0);
        }
        assertThat(emulator.count("peer copies")).isZero();
        assertThat(emulator.count("calls cuCtxEnablePeerAccess")).isZero();
        nothingIsLeft();
    }

    /** Stores of kernels through a CPU have not been measured; copies have. */
    @ParameterizedTest
    @EnumSource(
            value = ExecutorChoice.class,
            names = {"AUTO", "KERNEL"})
    void copiesThroughCpusAreGraphsUnlessKernelsAreAskedFor(ExecutorChoice executor) {
        Machine preset = Presets.find("pcie-4").orElseThrow();
        Machine machine = new Machine(
                        "pcie", devices(preset.size()), preset.hubs(), preset.links(), List.of(), List.of())
                .subset(0, 2);
        Config config = Config.builder()
                .set(CudaBackendProvider.EXECUTOR, executor)
                .set(Planner.ALGORITHM, SizeRules.always(AlgorithmChoice.RING))
                .set(HostBackend.THREADS, 1)
                .build();
        try (Backend backend = Communicator.gpuBackend(machine, config, 0, 2);
                Communicator host = Communicator.onHost(machine, config);
                Communicator cuda = Communicator.create(machine, config, backend)) {
            comparison.compare(host, cuda, Collective.ALL_REDUCE, DataType.F32, ReduceOp.SUM, true, 10_001, 0);
        }
        assertThat(emulator.count("graph launches") > 0).isEqualTo(executor == ExecutorChoice.AUTO);
        nothingIsLeft();
    }

    @Test
    void memoryOfTheHostIsFreedIfTheArenaRefusesIt() {
        try (CudaBackend backend = new CudaBackend(new int[] {0}, PATIENCE, PeerRule.ALL, MEBIBYTE, DEFAULT)) {
            long before = emulator.count("host allocations");
            Arena closed;
            try (Arena open = Arena.ofShared()) {
                closed = open;
            }
            assertThatThrownBy(() -> backend.allocateHost(64, closed))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("Already closed");
            assertThat(emulator.count("host allocations")).isEqualTo(before);
        }
    }

    /** Pinned, of an arena, and of the heap. */
    @Test
    void allKindsOfMemoryOfTheHostAreCopied() {
        int bytes = 9 << 20;
        byte[] values = new byte[bytes];
        random.nextBytes(values);
        try (CudaBackend backend = new CudaBackend(new int[] {0}, PATIENCE, PeerRule.ALL, MEBIBYTE, DEFAULT)) {
            MemorySegment device = backend.allocate(0, bytes + 4L);
            // The backend keeps the staging memory that the first copy takes.
            backend.copyToDevice(device, MemorySegment.ofArray(new byte[1]));
            long before = emulator.count("host allocations");
            try (Arena arena = Arena.ofShared()) {
                MemorySegment pinned = backend.allocateHost(bytes, arena);
                assertThat(pinned.byteSize()).isEqualTo(bytes);
                assertThat(emulator.count("host allocations")).isEqualTo(before + 1);
                assertThat(backend.allocateHost(0, arena).byteSize()).isZero();
                MemorySegment plain = arena.allocate(bytes);
                MemorySegment heap = MemorySegment.ofArray(new byte[bytes]);
                backend.copyToDevice(device, MemorySegment.ofArray(values));
                backend.copyToHost(device, pinned);
                backend.copyToDevice(device.asSlice(4), pinned);
                backend.copyToHost(device.asSlice(4), plain);
                backend.copyToDevice(device, plain);
                backend.copyToHost(device, heap);
                assertThat(heap.mismatch(MemorySegment.ofArray(values))).isEqualTo(-1);
                assertThatThrownBy(() -> backend.copyToHost(device, plain.asReadOnly()))
                        .isInstanceOf(IllegalArgumentException.class);
            }
            assertThat(emulator.count("host allocations")).isEqualTo(before);
        }
        nothingIsLeft();
    }

    @Test
    void aRepeatedCallIsOneLaunchAndAllocatesNothing() {
        Machine machine = Presets.find("p3.16xlarge").orElseThrow();
        int[] devices = IntStream.range(0, 8).toArray();
        try (CudaBackend backend = new CudaBackend(devices, PATIENCE, PeerRule.ALL, 64 * MEBIBYTE, GRAPHS);
                Communicator cuda = Communicator.create(machine, Config.defaults(), backend)) {
            List<MemorySegment> buffers = IntStream.range(0, 8)
                    .mapToObj(rank -> cuda.allocate(rank, 4000))
                    .toList();
            cuda.allReduce(buffers, 1000, DataType.F32, ReduceOp.SUM);
            long launches = emulator.count("graph launches");
            long allocations = emulator.count("calls cuMemAlloc");
            long nodes = emulator.count("calls cuGraphAddKernelNode");
            for (int i = 0; i < 10; i++) {
                cuda.allReduce(buffers, 1000, DataType.F32, ReduceOp.SUM);
            }
            assertThat(emulator.count("graph launches") - launches).isEqualTo(10);
            assertThat(emulator.count("calls cuMemAlloc")).isEqualTo(allocations);
            assertThat(emulator.count("calls cuGraphAddKernelNode"))
                    .isEqualTo(nodes)
                    .isPositive();
        }
        nothingIsLeft();
    }

    /** The driver may return from copies of pageable memory before the device has the bytes. */
    @Test
    void whatIsWrittenIsThereForTheNextCollective() {
        Machine machine = Presets.find("p3.16xlarge").orElseThrow();
        int[] devices = IntStream.range(0, 8).toArray();
        emulator.tell("pageable late", "shuffle 5");
        try (CudaBackend backend = new CudaBackend(devices, PATIENCE, PeerRule.ALL, 64 * MEBIBYTE, DEFAULT);
                Communicator cuda = Communicator.create(machine, Config.defaults(), backend);
                Arena arena = Arena.ofShared()) {
            int count = 3000;
            int[] values = new int[count];
            List<MemorySegment> sources = List.of(
                    MemorySegment.ofArray(values),
                    arena.allocate(4L * count, 64),
                    backend.allocateHost(4L * count, arena),
                    MemorySegment.ofArray(new byte[4 * count]));
            List<MemorySegment> buffers = IntStream.range(0, 8)
                    .mapToObj(rank -> cuda.allocate(rank, 4L * count))
                    .toList();
            for (int round = 0; round < 12; round++) {
                int sum = 0;
                for (int rank = 0; rank < 8; rank++) {
                    Arrays.fill(values, random.nextInt(1000));
                    sum += values[0];
                    MemorySegment source = sources.get((round + rank) % sources.size());
                    source.copyFrom(MemorySegment.ofArray(values));
                    cuda.copyToDevice(buffers.get(rank), source);
                    source.fill((byte) 1);
                }
                cuda.allReduce(buffers, count, DataType.I32, ReduceOp.SUM);
                for (MemorySegment buffer : buffers) {
                    cuda.copyToHost(buffer, MemorySegment.ofArray(values));
                    assertThat(values).containsOnly(sum);
                }
            }
        }
        nothingIsLeft();
    }

    /** A ring has 112 steps, each a node here; the copies that mark every one of them would be half of all nodes. */
    @Test
    void shortStepsHaveOneMarkForEachDevice() {
        Machine machine = Presets.find("p3.16xlarge").orElseThrow();
        Config config = Config.builder()
                .set(Planner.ALGORITHM, SizeRules.parse("ring/1"))
                .build();
        int[] devices = IntStream.range(0, 8).toArray();
        Map<Integer, Long> nodes = new HashMap<>();
        for (int count : new int[] {2048, 600_000}) {
            long before = nodeCalls();
            try (CudaBackend backend = new CudaBackend(devices, PATIENCE, PeerRule.ALL, 64 * MEBIBYTE, GRAPHS);
                    Communicator cuda = Communicator.create(machine, config, backend)) {
                List<MemorySegment> buffers = IntStream.range(0, 8)
                        .mapToObj(rank -> cuda.allocate(rank, 4L * count))
                        .toList();
                cuda.allReduce(buffers, count, DataType.F32, ReduceOp.SUM);
            }
            nodes.put(count, nodeCalls() - before);
        }
        assertThat(nodes.get(2048)).isEqualTo(112 + 8);
        assertThat(nodes.get(600_000)).isGreaterThanOrEqualTo(2 * 112);
        nothingIsLeft();
    }

    private long nodeCalls() {
        return emulator.count("calls cuGraphAddMemcpyNode") + emulator.count("calls cuGraphAddKernelNode");
    }

    /** As benchmarks of what the host does have it. */
    @Test
    void launchesMayBeSkipped() {
        Machine machine = Presets.find("p3.16xlarge").orElseThrow().subset(0, 1);
        emulator.tell("launches skipped");
        try (CudaBackend backend =
                        new CudaBackend(new int[] {0, 1}, PATIENCE, PeerRule.ALL, 64 * MEBIBYTE, GRAPHS.believing());
                Communicator cuda = Communicator.create(machine, Config.defaults(), backend)) {
            List<MemorySegment> buffers = List.of(cuda.allocate(0, 256), cuda.allocate(1, 256));
            for (int i = 0; i < 3; i++) {
                cuda.allReduce(buffers, 64, DataType.F32, ReduceOp.SUM);
            }
            assertThat(emulator.count("kernels")).isZero();
            assertThat(emulator.count("graph launches")).isEqualTo(3);
        }
        nothingIsLeft();
    }

    @Test
    void keysOfOneLengthKeepAGraphEach() {
        Machine machine = Presets.find("p3.16xlarge").orElseThrow().subset(0, 1);
        try (CudaBackend backend = new CudaBackend(new int[] {0, 1}, PATIENCE, PeerRule.ALL, 64 * MEBIBYTE, GRAPHS);
                Communicator cuda = Communicator.create(machine, Config.defaults(), backend)) {
            List<List<MemorySegment>> keys = IntStream.range(0, 100)
                    .mapToObj(key -> List.of(cuda.allocate(0, 256), cuda.allocate(1, 256)))
                    .toList();
            keys.forEach(buffers -> cuda.allReduce(buffers, 64, DataType.F32, ReduceOp.SUM));
            long built = emulator.count("calls cuGraphInstantiateWithFlags");
            keys.forEach(buffers -> cuda.allReduce(buffers, 64, DataType.F32, ReduceOp.SUM));
            assertThat(emulator.count("calls cuGraphInstantiateWithFlags"))
                    .isEqualTo(built)
                    .isEqualTo(100);
            assertThat(emulator.count("graph launches")).isEqualTo(200);
        }
        nothingIsLeft();
    }

    @Test
    void aCallTakesItsPlaceInTheCallersStreams() {
        Machine machine = Presets.find("p3.16xlarge").orElseThrow().subset(0, 1);
        CallersStreams streams = new CallersStreams(emulator, 0, 1);
        try (CudaBackend backend = new CudaBackend(new int[] {0, 1}, PATIENCE, PeerRule.ALL, 64 * MEBIBYTE, DEFAULT);
                Communicator cuda = Communicator.create(machine, Config.defaults(), backend)) {
            CollectiveCall call = CallersStreams.sum(cuda);
            cuda.run(call);
            streams.checkOrder(cuda, call);
            assertThatThrownBy(() -> cuda.enqueue(call, streams.first(1)).join())
                    .hasMessageContaining("1 streams for 2 ranks");
        }
        emulator.reset();
    }

    @Test
    void receiveBuffersStayWithinTheirLimit() {
        Machine machine = Presets.find("p3.16xlarge").orElseThrow();
        Config config = Config.builder()
                .set(Planner.ALGORITHM, SizeRules.always(AlgorithmChoice.STAR))
                .set(HostBackend.THREADS, 1)
                .build();
        int[] devices = IntStream.range(0, 8).toArray();
        // The limit is each rank's, wherever it is.
        for (int[] ofRanks : List.of(devices, new int[8])) {
            try (CudaBackend backend = new CudaBackend(ofRanks, PATIENCE, PeerRule.ALL, 2 * MEBIBYTE, DEFAULT);
                    Communicator host = Communicator.onHost(machine, config);
                    Communicator cuda = Communicator.create(machine, config, backend)) {
                comparison.compare(host, cuda, Collective.REDUCE, DataType.F32, ReduceOp.SUM, false, 500_000, 0);
            }
        }
        try (CudaBackend backend = new CudaBackend(devices, PATIENCE, PeerRule.ALL, MEBIBYTE, DEFAULT);
                Communicator cuda = Communicator.create(machine, config, backend)) {
            List<MemorySegment> buffers = IntStream.range(0, 8)
                    .mapToObj(rank -> cuda.allocate(rank, 4_000_000))
                    .toList();
            assertThatThrownBy(() -> cuda.allReduce(buffers, 1_000_000, DataType.F32, ReduceOp.SUM))
                    .isInstanceOf(CudaException.class)
                    .hasMessageContaining("BANYAN_BUFFER_LIMIT is 1048576");
        }
        nothingIsLeft();
    }

    @Test
    void buffersMayBeOfPools() {
        Machine machine = Presets.find("p3.16xlarge").orElseThrow();
        int[] devices = IntStream.range(0, 8).toArray();
        try (CudaBackend direct = new CudaBackend(devices, PATIENCE, PeerRule.ALL, 64 * MEBIBYTE, GRAPHS);
                CudaBackend copying = new CudaBackend(devices, PATIENCE, PeerRule.ALL, 64 * MEBIBYTE, COPIES)) {
            for (CudaBackend backend : List.of(direct, copying)) {
                Communicator cuda = Communicator.create(machine, Config.defaults(), backend);
                List<CUdeviceptr> buffers = new ArrayList<>();
                for (int ordinal : devices) {
                    EmulatedGpus.enter(ordinal);
                    CUdeviceptr buffer = new CUdeviceptr();
                    EmulatedGpus.ok(JCudaDriver.cuMemAllocAsync(buffer, 4000, new CUstream()));
                    buffers.add(buffer);
                }
                sums(cuda, buffers);
                long calls = emulator.count("calls cuPointerGetAttribute");
                sums(cuda, buffers);
                assertThat(emulator.count("calls cuPointerGetAttribute"))
                        .as("of the test and its copies")
                        .isEqualTo(calls + 24);
            }
        }
        EmulatedProcess.beginAnother(emulator);
    }

    /** Maps a buffer twice; the second mapping begins within the buffer. */
    @Test
    void mappedBuffersMustBeOpen() {
        Machine machine = Presets.find("p3.16xlarge").orElseThrow().subset(0, 1);
        try (CudaBackend backend = new CudaBackend(new int[] {0, 1}, PATIENCE, PeerRule.ALL, 64 * MEBIBYTE, GRAPHS);
                Communicator cuda = Communicator.create(machine, Config.defaults(), backend)) {
            List<CUdeviceptr> mapped = List.of(EmulatedGpus.mapped(0, 2), EmulatedGpus.mapped(1, 2));
            List<CUdeviceptr> buffers = mapped.stream()
                    .map(pointer -> EmulatedGpus.at(pointer, EmulatedGpus.GRANULE - 2000))
                    .toList();
            assertThatThrownBy(() -> sums(cuda, buffers))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageMatching(
                            "the buffer of rank . at 0x[0-9a-f]+ is mapped memory that device . may not touch; allow"
                                    + " it by cuMemSetAccess, or take data through the host by MXNET_ENABLE_GPU_P2P=0");
            EmulatedGpus.open(mapped.get(0), 1, 1);
            EmulatedGpus.open(mapped.get(1), 1, 0);
            assertThatThrownBy(() -> sums(cuda, buffers)).hasMessageContaining("may not touch");
            EmulatedGpus.open(mapped.get(0), 2, 1);
            EmulatedGpus.open(mapped.get(1), 2, 0);
            sums(cuda, buffers);
        }
        try (CudaBackend backend = new CudaBackend(new int[] {0, 1}, PATIENCE, PeerRule.NONE, 64 * MEBIBYTE, DEFAULT);
                Communicator cuda = Communicator.create(machine, Config.defaults(), backend)) {
            sums(cuda, List.of(EmulatedGpus.mapped(0, 1), EmulatedGpus.mapped(1, 1)));
        }
        EmulatedProcess.beginAnother(emulator);
    }

    /** Sums 1000 numbers of each rank, in foreign memory. */
    private static void sums(Communicator cuda, List<CUdeviceptr> pointers) {
        List<MemorySegment> buffers = pointers.stream()
                .map(pointer -> CudaBackend.memory(
                        EmulatedGpus.attribute(CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_POINTER, pointer), 4000))
                .toList();
        int[] values = new int[1000];
        Arrays.fill(values, 3);
        buffers.forEach(buffer -> cuda.copyToDevice(buffer, MemorySegment.ofArray(values)));
        cuda.allReduce(buffers, 1000, DataType.I32, ReduceOp.SUM);
        for (MemorySegment buffer : buffers) {
            int[] got = new int[1000];
            cuda.copyToHost(buffer, MemorySegment.ofArray(got));
            assertThat(got).containsOnly(3 * pointers.size());
        }
    }

    @Test
    void wrongBuffersAreRefused() {
        Machine machine = Presets.find("p3.16xlarge").orElseThrow().subset(0, 1);
        try (CudaBackend backend = new CudaBackend(new int[] {0, 1}, PATIENCE, PeerRule.ALL, 64 * MEBIBYTE, DEFAULT);
                Communicator cuda = Communicator.create(machine, Config.defaults(), backend);
                Arena arena = Arena.ofShared()) {
            MemorySegment good = cuda.allocate(0, 64);
            assertThatThrownBy(() -> cuda.allReduce(List.of(good, cuda.allocate(0, 64)), 4, DataType.F32, ReduceOp.SUM))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("rank 1")
                    .hasMessageContaining("is on device 0");
            assertThatThrownBy(() -> cuda.allReduce(List.of(good, arena.allocate(64)), 4, DataType.F32, ReduceOp.SUM))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("no memory of a device");
            MemorySegment odd = cuda.allocate(1, 64).asSlice(2);
            assertThatThrownBy(() -> cuda.allReduce(List.of(good, odd), 4, DataType.F32, ReduceOp.SUM))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("align it to its elements");
            MemorySegment far = cuda.allocate(1, 64);
            assertThatThrownBy(() -> cuda.allReduce(
                            List.of(CudaBackend.memory(good.address(), 68), CudaBackend.memory(far.address(), 68)),
                            17,
                            DataType.F32,
                            ReduceOp.SUM))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("ends 4 bytes behind its allocation");
            assertThatThrownBy(() -> good.get(ValueLayout.JAVA_BYTE, 0)).isInstanceOf(WrongThreadException.class);
            MemorySegment other = cuda.allocate(1, 64);
            cuda.allReduce(
                    List.of(CudaBackend.memory(good.address(), 64), CudaBackend.memory(other.address(), 64)),
                    4,
                    DataType.F32,
                    ReduceOp.SUM);
        }
        assertThatThrownBy(() -> new CudaBackend(new int[] {0, 8}, PATIENCE, PeerRule.ALL, MEBIBYTE, DEFAULT))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("device 8; this machine has 8, 0..7");
        nothingIsLeft();
    }

    private void nothingIsLeft() {
        for (String kind : List.of("contexts", "streams", "events", "modules", "graphs", "execs")) {
            assertThat(emulator.count(kind)).as(kind).isZero();
        }
        assertThat(emulator.count("bytes")).isZero();
        assertThat(emulator.count("abandoned"))
                .as("memory that a context took along")
                .isZero();
    }
}
