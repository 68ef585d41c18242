package dev.banyan.dlc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.config.Config;
import dev.banyan.dlc.internal.format.DlcHeader;
import dev.banyan.dlc.internal.format.DlcMessage;
import dev.banyan.dlc.internal.format.DlcRole;
import dev.banyan.dlc.internal.run.DlcRun;
import dev.banyan.dlc.internal.statistics.DlcStatistics;
import dev.banyan.dlc.internal.statistics.Overhead;
import dev.banyan.kvstore.KVStore;
import dev.banyan.kvstore.Key;
import dev.banyan.kvstore.KeyInfo;
import dev.banyan.kvstore.StoreListener.Stage;
import dev.banyan.kvstore.StoreOperation;
import dev.banyan.kvstore.StoreOperation.Kind;
import dev.banyan.kvstore.StoreType;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.internal.host.HostBackend;
import dev.banyan.schedule.type.DataType;
import dev.banyan.topology.Machine;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TraceRecorderTest {
    private static final int DEVICES = 3;
    private static final int ITERATIONS = 3;
    /** Elements of LeNet-5's keys. */
    private static final List<Integer> LENET_5 = List.of(500, 20, 25_000, 50, 400_000, 500, 5_000, 10);

    private static final double BYTES =
            LENET_5.stream().mapToDouble(count -> 4.0 * count).sum();

    /** Returns the lines of a worker's file for a key in an iteration, as published traces have them. */
    private static List<String> iteration(int key, int first, int server, String before) {
        String peer = "-s" + server;
        return List.of(
                "Push_Send_Worker " + key + "-" + first + peer + " 4 [" + before + "]",
                "Push_Recv_Worker " + key + "-" + (first + 1) + peer + " 1 [" + key + "-" + first + peer + "]",
                "Pull_Send_Worker " + key + "-" + (first + 2) + peer + " 2 [" + key + "-" + (first + 1) + peer + "]",
                "Pull_Recv_Worker " + key + "-" + (first + 3) + peer + " 3 [" + key + "-" + (first + 2) + peer + "]");
    }

    private static String shape(DlcMessage message) {
        return message.operation().label() + " " + message.operationId() + " "
                + message.dependencyType().number() + " " + message.dependencies();
    }

    @Test
    void lenet5HasTheStructureOfPublishedTraces(@TempDir Path folder) throws Exception {
        TraceRecorder recorder = new TraceRecorder(DEVICES, "box");
        List<KeyInfo> keys;
        try (Communicator communicator = Communicator.onHost(
                        Machine.preset("p3.16xlarge").subset(0, 1, 2),
                        Config.builder().set(HostBackend.THREADS, 2).build());
                KVStore store =
                        KVStore.builder(communicator).type(StoreType.DEVICE).open()) {
            store.setListener(recorder);
            keys = train(store, communicator);
        }
        List<Path> files = recorder.write(folder);
        List<String> servers = keys.stream()
                .map(KeyInfo::server)
                .distinct()
                .sorted()
                .map(server -> "server-" + server + ".txt")
                .toList();
        assertThat(files.stream().map(file -> file.getFileName().toString()))
                .containsExactlyElementsOf(
                        Stream.concat(Stream.of("worker-0.txt", "worker-1.txt", "worker-2.txt"), servers.stream())
                                .toList());
        for (int worker = 0; worker < DEVICES; worker++) {
            DlcTrace trace = DlcSamples.read(Files.readString(files.get(worker)));
            assertThat(trace.header()).isEqualTo(DlcHeader.of(DlcRole.WORKER, "box", DEVICES, DEVICES));
            checkWorker(trace, worker, keys);
        }
        DlcRun run = new DlcRun(recorder.traces());
        DlcStatistics statistics = DlcStatistics.of(run);
        assertThat(statistics.iterations()).isEqualTo(ITERATIONS);
        assertThat(statistics.keys()).hasSize(8);
        assertThat(statistics.pushedBytesPerIteration()).isEqualTo(DEVICES * BYTES);
        assertThat(statistics.pulledBytesPerIteration()).isEqualTo(DEVICES * BYTES);
        assertThat(statistics.phases().orElseThrow().iterations()).isEqualTo(DEVICES * ITERATIONS);
        for (Overhead overhead : Overhead.values()) {
            assertThat(statistics.overhead(overhead).orElseThrow().min())
                    .as(overhead.label())
                    .isNotNegative();
        }
    }

    private static void checkWorker(DlcTrace trace, int worker, List<KeyInfo> keys) {
        // Workers that initialise nothing begin with the pull.
        int shift = worker == 0 ? 0 : 2;
        for (int i = 1; i <= ITERATIONS; i++) {
            int iteration = i;
            String before = keys.stream()
                    .map(KeyInfo::server)
                    .distinct()
                    .sorted()
                    .map(server -> (4 * iteration - 1 - shift) + "-s" + server)
                    .toList()
                    .toString()
                    .replaceAll("[\\[\\]]", "");
            assertThat(trace.messages()
                            .filter(message -> message.iteration() == iteration)
                            .map(TraceRecorderTest::shape))
                    .hasSize(32)
                    .containsExactlyInAnyOrderElementsOf(keys.stream()
                            .flatMap(key ->
                                    iteration(key.number(), 4 * iteration - shift, key.server(), before).stream())
                            .toList());
        }
        assertThat(trace.messages().filter(message -> message.iteration() == 0)).hasSize(worker == 0 ? 32 : 16);
        assertThat(trace.messages().filter(DlcMessage::initialises)).hasSize(worker == 0 ? 16 : 0);
        assertThat(trace.messages().filter(message -> !message.initialises()))
                .allMatch(message ->
                        (message.number() % 2 == 1) == (message.operation().message() < 2));
        assertThat(trace.messages().map(DlcMessage::timeUs)).isSorted();
    }

    /** Pulls all keys, then pushes and pulls them from the last layer to the first. */
    private static List<KeyInfo> train(KVStore store, Communicator communicator) {
        for (int key = 0; key < LENET_5.size(); key++) {
            int count = LENET_5.get(key);
            store.init(Key.of(key), MemorySegment.ofArray(new float[count]), count, DataType.F32);
        }
        List<List<MemorySegment>> arrays = LENET_5.stream()
                .map(count -> IntStream.range(0, DEVICES)
                        .mapToObj(rank -> communicator.allocate(rank, 4L * count))
                        .toList())
                .toList();
        List<CompletableFuture<Void>> pulled = new ArrayList<>();
        IntStream.range(0, LENET_5.size()).forEach(key -> pulled.add(store.pull(Key.of(key), arrays.get(key))));
        pulled.forEach(CompletableFuture::join);
        for (int iteration = 0; iteration < ITERATIONS; iteration++) {
            List<CompletableFuture<Void>> operations = new ArrayList<>();
            for (int key = LENET_5.size() - 1; key >= 0; key--) {
                operations.add(store.push(Key.of(key), arrays.get(key), -key));
                operations.add(store.pull(Key.of(key), arrays.get(key), -key));
            }
            operations.forEach(CompletableFuture::join);
        }
        return store.keys();
    }

    @Test
    void timesAreThoseOfTheStages() {
        KeyInfo key = new KeyInfo(Key.of("w"), 0, 1, 25, DataType.F32);
        TraceRecorder recorder = new TraceRecorder(2, "box");
        recorder.initialized(key, 0);
        StoreOperation pull = new StoreOperation(0, Kind.PULL, key, 0);
        recorder.submitted(pull, 100_000);
        stage(recorder, pull, Stage.BROADCAST, 200_000, 300_000);
        StoreOperation push = new StoreOperation(1, Kind.PUSH, key, 0);
        recorder.submitted(push, 1_000_000);
        stage(recorder, push, Stage.REDUCE, 1_200_000, 1_400_000);
        stage(recorder, push, Stage.UPDATE, 1_400_000, 1_450_000);
        StoreOperation second = new StoreOperation(2, Kind.PULL, key, 0);
        recorder.submitted(second, 1_001_000);
        stage(recorder, second, Stage.BROADCAST, 1_500_000, 1_600_000);
        StoreOperation failed = new StoreOperation(3, Kind.PUSH, key, 0);
        recorder.submitted(failed, 1_700_000);
        recorder.began(failed, Stage.REDUCE, 1_700_000);
        recorder.failed(failed, new IllegalStateException("no"), 1_800_000);

        DlcStatistics statistics = DlcStatistics.of(new DlcRun(recorder.traces()));
        assertThat(statistics.iterations()).isEqualTo(1);
        assertThat(statistics.records()).isEqualTo(8 + 6 + 14);
        assertThat(statistics.overhead(Overhead.COMPUTATION)).contains(new DlcStatistics.Spread(2, 700, 700, 700));
        assertThat(statistics.overhead(Overhead.PUSH)).contains(new DlcStatistics.Spread(2, 450, 450, 450));
        assertThat(statistics.overhead(Overhead.WAIT)).contains(new DlcStatistics.Spread(2, 50, 50, 50));
        assertThat(statistics.overhead(Overhead.PULL)).contains(new DlcStatistics.Spread(2, 100, 100, 100));
        assertThat(statistics.overhead(Overhead.SYNCHRONISATION)).contains(new DlcStatistics.Spread(1, 0, 0, 0));
        assertThat(statistics.overhead(Overhead.UPDATE)).contains(new DlcStatistics.Spread(1, 50, 50, 50));
        assertThat(statistics.phases()).contains(new DlcStatistics.Phases(2, 700, 0, 600));
        DlcTrace server = recorder.traces().getLast();
        assertThat(server.messages()
                        .filter(message -> message.worker() == 0)
                        .map(message -> message.operationId().toString()))
                .containsExactly("0--2-w0", "0--1-w0", "0-0-w0", "0-1-w0", "0-2-w0", "0-3-w0", "0-4-w0", "0-5-w0");
    }

    private static void stage(TraceRecorder recorder, StoreOperation operation, Stage stage, long began, long ended) {
        recorder.began(operation, stage, began);
        recorder.ended(operation, stage, ended);
    }

    @Test
    void aPushPullOfOneCollectiveIsAWholeIteration() {
        KeyInfo key = new KeyInfo(Key.of(7), 0, 0, 25, DataType.F32);
        TraceRecorder recorder = new TraceRecorder(2, "box");
        for (int id = 0; id < 2; id++) {
            StoreOperation operation = new StoreOperation(id, Kind.PUSH_PULL, key, 0);
            recorder.submitted(operation, 1000L * id);
            long began = 100_000L * (id + 1);
            stage(recorder, operation, Stage.ALL_REDUCE, began, began + 30_000);
        }
        DlcTrace worker = recorder.traces().getFirst();
        assertThat(worker.messages().map(message -> message.operationId().toString()))
                .containsExactly("0-0-s0", "0-1-s0", "0-2-s0", "0-3-s0", "0-4-s0", "0-5-s0", "0-6-s0", "0-7-s0");
        // The second waits for the first, although it was asked for before.
        assertThat(worker.messages().skip(4).map(DlcMessage::delayUs)).containsExactly(0L, 100L, 0L, 0L);
        assertThat(DlcSamples.read(DlcSamples.write(worker))).isEqualTo(worker);
    }
}
