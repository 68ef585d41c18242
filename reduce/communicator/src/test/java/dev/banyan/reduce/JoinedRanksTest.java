package dev.banyan.reduce;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.config.Config;
import dev.banyan.reduce.backend.Backend;
import dev.banyan.reduce.backend.CollectiveTimeoutException;
import dev.banyan.reduce.internal.joining.Joined;
import dev.banyan.reduce.internal.joining.JoiningProvider;
import dev.banyan.reduce.internal.processes.Job;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.Machine;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Ranks that join from threads, each with a communicator of its own, as processes do. */
@EnabledOnOs(OS.LINUX)
class JoinedRanksTest {
    private static final Machine MACHINE = Machine.preset("p3.16xlarge");

    @TempDir
    private Path folder;

    /** The program of a process. */
    private interface Program<T> {
        T run(Communicator communicator) throws Exception;
    }

    private Config config(int process, int processes) {
        return Config.builder()
                .set("BANYAN_RANK", Integer.toString(process))
                .set("BANYAN_WORLD_SIZE", Integer.toString(processes))
                .set("BANYAN_RENDEZVOUS", folder.resolve("job").toString())
                .set("BANYAN_TIMEOUT_MS", "900000")
                .build();
    }

    /** Runs a program in each process, which holds as many ranks as given. */
    private <T> List<T> inAll(int[] ranks, Program<T> program) throws Exception {
        Machine machine =
                MACHINE.subset(IntStream.range(0, IntStream.of(ranks).sum()).toArray());
        try (ExecutorService threads = Executors.newCachedThreadPool()) {
            List<Future<T>> running = new ArrayList<>();
            for (int p = 0; p < ranks.length; p++) {
                int process = p;
                running.add(threads.submit(() -> {
                    try (Communicator joined =
                            Communicator.join(machine, config(process, ranks.length), ranks[process])) {
                        return program.run(joined);
                    }
                }));
            }
            List<T> results = new ArrayList<>();
            for (Future<T> each : running) {
                results.add(each.get());
            }
            return results;
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void allCollectivesGiveTheBitsOfOneProcess(boolean shared) throws Exception {
        for (int[] ranks : new int[][] {{1, 1}, {1, 2, 1}, {3, 1}}) {
            int n = IntStream.of(ranks).sum();
            List<Case> cases = new ArrayList<>();
            for (Collective collective : Collective.values()) {
                for (boolean inPlace : new boolean[] {true, false}) {
                    for (long count : new long[] {1, 1000, 9_001}) {
                        DataType type = count == 1000 ? DataType.BF16 : DataType.F32;
                        ReduceOp op = count == 1 ? ReduceOp.AVG : ReduceOp.SUM;
                        cases.add(new Case(collective, inPlace, count, type, op, n));
                    }
                }
            }
            assertGiveTheBitsOfOneProcess(cases, ranks, _ -> shared);
        }
    }

    /** The processes join once and run each case. */
    private void assertGiveTheBitsOfOneProcess(List<Case> cases, int[] ranks, IntPredicate shared) throws Exception {
        List<List<byte[]>> expected;
        int n = IntStream.of(ranks).sum();
        try (Communicator whole =
                Communicator.onHost(MACHINE.subset(IntStream.range(0, n).toArray()), Config.defaults())) {
            expected = cases.stream().map(each -> each.run(whole, shared)).toList();
        }
        List<List<List<byte[]>>> results = inAll(
                ranks,
                joined -> cases.stream().map(each -> each.run(joined, shared)).toList());
        for (int c = 0; c < cases.size(); c++) {
            int index = c;
            List<byte[]> got = results.stream()
                    .flatMap(process -> process.get(index).stream())
                    .toList();
            assertThat(got).hasSameSizeAs(expected.get(c));
            for (int i = 0; i < got.size(); i++) {
                assertThat(Arrays.mismatch(got.get(i), expected.get(c).get(i)))
                        .as("%s in processes of %s ranks: output %d", cases.get(c), Arrays.toString(ranks), i)
                        .isEqualTo(-1);
            }
        }
    }

    /** Buffers that are not shared go through windows of 512 KiB. */
    @Test
    void largeBuffersGiveTheBitsOfOneProcess() throws Exception {
        for (int[] ranks : new int[][] {{1, 1}, {1, 2, 1}}) {
            int n = IntStream.of(ranks).sum();
            List<Case> cases = new ArrayList<>();
            for (Collective collective : Collective.values()) {
                for (boolean inPlace : new boolean[] {true, false}) {
                    boolean ofAllRanks = collective == Collective.ALL_GATHER || collective == Collective.REDUCE_SCATTER;
                    long count = ofAllRanks ? 100_003 : 300_007;
                    cases.add(new Case(collective, inPlace, count, DataType.F32, ReduceOp.AVG, n));
                }
            }
            assertGiveTheBitsOfOneProcess(cases, ranks, _ -> false);
            assertGiveTheBitsOfOneProcess(cases, ranks, rank -> rank % 2 == 0);
        }
        Case halves = new Case(Collective.ALL_REDUCE, true, 600_001, DataType.F16, ReduceOp.SUM, 2);
        assertGiveTheBitsOfOneProcess(List.of(halves), new int[] {1, 1}, _ -> false);
    }

    /** Processes give cores to each other. */
    @Test
    void moreProcessesThanCoresGiveTheBitsOfOneProcess() throws Exception {
        int[] ranks = new int[Math.min(Runtime.getRuntime().availableProcessors() + 1, MACHINE.size())];
        Arrays.fill(ranks, 1);
        List<Case> cases = new ArrayList<>();
        for (boolean inPlace : new boolean[] {true, false}) {
            for (long count : new long[] {40_000, 300_007}) {
                cases.add(new Case(Collective.ALL_REDUCE, inPlace, count, DataType.F32, ReduceOp.SUM, ranks.length));
            }
        }
        assertGiveTheBitsOfOneProcess(cases, ranks, _ -> false);
        assertGiveTheBitsOfOneProcess(cases, ranks, rank -> rank == 1);
    }

    private record Case(Collective collective, boolean inPlace, long count, DataType type, ReduceOp op, int ranks) {
        private long bytes(long elements) {
            return elements * type.bytes();
        }

        /** Runs it twice; returns the outputs of the communicator's own ranks. */
        List<byte[]> run(Communicator communicator, IntPredicate shared) {
            try (Arena arena = Arena.ofShared()) {
                Prepared prepared = prepare(communicator, shared, arena);
                communicator.run(prepared.call());
                communicator.run(prepared.call());
                return prepared.bytes();
            }
        }

        /** Makes its buffers. */
        Prepared prepare(Communicator communicator, IntPredicate shared, Arena arena) {
            int root = collective.hasRoot() ? ranks - 1 : -1;
            long in = bytes(collective.inputElements(count, ranks));
            long out = bytes(collective.outputElements(count, ranks));
            List<MemorySegment> inputs = new ArrayList<>();
            List<MemorySegment> outputs = new ArrayList<>();
            for (int r = 0; r < communicator.ranksHeld(); r++) {
                int rank = communicator.firstRank() + r;
                MemorySegment input = memory(communicator, arena, rank, inPlace ? Math.max(in, out) : in, shared);
                Elements.fill(input, 0, input.byteSize() / type.bytes(), type, new SplittableRandom(rank));
                inputs.add(input);
                outputs.add(inPlace ? input : memory(communicator, arena, rank, out, shared));
            }
            boolean hasRoot =
                    root >= communicator.firstRank() && root < communicator.firstRank() + communicator.ranksHeld();
            List<MemorySegment> roots = hasRoot ? List.of(inputs.get(root - communicator.firstRank())) : List.of();
            List<MemorySegment> rootsOut = hasRoot ? List.of(outputs.get(root - communicator.firstRank())) : List.of();
            CollectiveCall call = inPlace
                    ? CollectiveCall.of(collective, root, count, type, op, inputs)
                    : CollectiveCall.of(
                                    collective,
                                    root,
                                    count,
                                    type,
                                    op,
                                    collective == Collective.BROADCAST ? roots : inputs)
                            .into(collective == Collective.REDUCE ? rootsOut : outputs);
            return new Prepared(call, outputs);
        }

        private static MemorySegment memory(
                Communicator communicator, Arena arena, int rank, long bytes, IntPredicate shared) {
            return shared.test(rank) ? communicator.allocate(rank, bytes) : arena.allocate(bytes, 64);
        }
    }

    /** A call and the outputs of the communicator's own ranks. */
    private record Prepared(CollectiveCall call, List<MemorySegment> outputs) {
        List<byte[]> bytes() {
            return outputs.stream()
                    .map(output -> output.toArray(ValueLayout.JAVA_BYTE))
                    .toList();
        }
    }

    /** Short and long calls in turn, of which some buffers are shared. */
    @Test
    void batchesGiveTheBitsOfOneProcess() throws Exception {
        for (int[] ranks : new int[][] {{1, 1}, {1, 2, 1}}) {
            int n = IntStream.of(ranks).sum();
            SplittableRandom random = new SplittableRandom(n);
            List<Collective> collectives = List.of(Collective.values());
            List<Case> cases = new ArrayList<>();
            for (int i = 0; i < 40; i++) {
                cases.add(new Case(
                        collectives.get(random.nextInt(collectives.size())),
                        random.nextBoolean(),
                        random.nextInt(10) == 0 ? 300_000 : 1 + random.nextInt(30_000),
                        random.nextBoolean() ? DataType.F32 : DataType.BF16,
                        ReduceOp.SUM,
                        n));
            }
            List<byte[]> expected = new ArrayList<>();
            try (Communicator whole =
                    Communicator.onHost(MACHINE.subset(IntStream.range(0, n).toArray()), Config.defaults())) {
                for (Case each : cases) {
                    try (Arena arena = Arena.ofShared()) {
                        Prepared prepared = each.prepare(whole, _ -> true, arena);
                        whole.run(prepared.call());
                        expected.addAll(prepared.bytes());
                    }
                }
            }
            List<List<byte[]>> results = inAll(ranks, joined -> runAll(joined, cases));
            for (int call = 0; call < cases.size(); call++) {
                int rank = 0;
                for (int p = 0; p < ranks.length; p++) {
                    for (int r = 0; r < ranks[p]; r++) {
                        byte[] got = results.get(p).get(call * ranks[p] + r);
                        assertThat(Arrays.mismatch(got, expected.get(call * n + rank++)))
                                .as("call %d, %s, process %d of %s", call, cases.get(call), p, Arrays.toString(ranks))
                                .isEqualTo(-1);
                    }
                }
            }
        }
    }

    private static List<byte[]> runAll(Communicator joined, List<Case> cases) {
        try (Arena arena = Arena.ofShared()) {
            List<Prepared> prepared = new ArrayList<>();
            for (int i = 0; i < cases.size(); i++) {
                int call = i;
                prepared.add(cases.get(i).prepare(joined, rank -> (call + rank) % 3 == 0, arena));
            }
            joined.runAll(prepared.stream().map(Prepared::call).toList());
            return prepared.stream().flatMap(each -> each.bytes().stream()).toList();
        }
    }

    /** Only one process sees that the calls depend on each other. */
    @Test
    void callsOfABatchThatDependOnEachOtherFollowEachOther() throws Exception {
        List<Float> sums = inAll(new int[] {1, 1}, joined -> {
            MemorySegment first = joined.allocate(joined.firstRank(), 400);
            MemorySegment second = joined.firstRank() == 0 ? first : joined.allocate(joined.firstRank(), 400);
            for (int i = 0; i < 100; i++) {
                first.setAtIndex(ValueLayout.JAVA_FLOAT, i, 1);
                second.setAtIndex(ValueLayout.JAVA_FLOAT, i, 1);
            }
            joined.runAll(List.of(
                    CollectiveCall.allReduce(List.of(first), 100, DataType.F32, ReduceOp.SUM),
                    CollectiveCall.allReduce(List.of(second), 100, DataType.F32, ReduceOp.SUM)));
            return second.getAtIndex(ValueLayout.JAVA_FLOAT, 99);
        });
        assertThat(sums).containsExactly(3f, 3f);
    }

    @Test
    void whatACallDoesNotUseOfABufferStaysAsItWas() throws Exception {
        List<Boolean> kept = inAll(new int[] {1, 1}, joined -> {
            try (Arena arena = Arena.ofShared()) {
                MemorySegment input = arena.allocate(4096, 64);
                MemorySegment output = arena.allocate(4096, 64).fill((byte) 7);
                joined.run(CollectiveCall.allReduce(List.of(input), 16, DataType.F32, ReduceOp.SUM)
                        .into(List.of(output)));
                joined.allReduce(List.of(input), 16, DataType.F32, ReduceOp.SUM);
                return output.asSlice(64).mismatch(arena.allocate(4096 - 64).fill((byte) 7)) < 0
                        && output.get(ValueLayout.JAVA_FLOAT, 60) == 0;
            }
        });
        assertThat(kept).containsExactly(true, true);
    }

    @Test
    void anAbortEndsTheCallsOfAll() throws Exception {
        List<String> messages = inAll(new int[] {1, 1}, joined -> {
            MemorySegment buffer = joined.allocate(joined.firstRank(), 4);
            joined.allReduce(List.of(buffer), 1, DataType.F32, ReduceOp.SUM);
            try {
                if (joined.firstRank() == 0) {
                    joined.abort();
                }
                joined.allReduce(List.of(buffer), 1, DataType.F32, ReduceOp.SUM);
                return "";
            } catch (IllegalStateException e) {
                return String.valueOf(e.getMessage());
            }
        });
        assertThat(messages.getLast()).contains("rank 0 (process ").contains("failed or was aborted");
        assertThat(messages.getFirst()).isNotEmpty();
    }

    @Test
    void nothingIsLeftInTheFolder() throws Exception {
        assertThat(inAll(new int[] {1, 1}, Communicator::firstRank)).containsExactly(0, 1);
        assertThat(Files.exists(folder.resolve("job"))).isFalse();
    }

    @Test
    void aProcessThatClosesItsCommunicatorIsNamed() {
        assertThatThrownBy(() -> inAll(new int[] {1, 1}, joined -> {
                    if (joined.firstRank() == 0) {
                        MemorySegment buffer = joined.allocate(0, 4);
                        joined.allReduce(List.of(buffer), 1, DataType.F32, ReduceOp.SUM);
                    }
                    return 0;
                }))
                .isInstanceOf(ExecutionException.class)
                .cause()
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("rank 1 (process ")
                .hasMessageContaining("closed its communicator");
    }

    /** Processes may be one short call ahead of each other. */
    @Test
    void shortAndLongCallsInTurnGiveTheirOwnSums() throws Exception {
        int[] ranks = {1, 2, 1};
        inAll(ranks, joined -> {
            SplittableRandom random = new SplittableRandom(20261123);
            List<MemorySegment> buffers = IntStream.range(0, joined.ranksHeld())
                    .mapToObj(r -> Arena.ofAuto().allocate(40_000, 64))
                    .toList();
            for (int call = 0; call < 500; call++) {
                int count = random.nextInt(10) == 0 ? 10_000 : 1 + random.nextInt(2000);
                for (int r = 0; r < buffers.size(); r++) {
                    for (int i = 0; i < count; i++) {
                        buffers.get(r).setAtIndex(ValueLayout.JAVA_INT, i, call * i + joined.firstRank() + r);
                    }
                }
                joined.allReduce(buffers, count, DataType.I32, ReduceOp.SUM);
                for (MemorySegment buffer : buffers) {
                    for (int i = 0; i < count; i++) {
                        if (buffer.getAtIndex(ValueLayout.JAVA_INT, i) != 4 * call * i + 6) {
                            throw new AssertionError("element " + i + " of call " + call);
                        }
                    }
                }
            }
            return true;
        });
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 100_000})
    void differentCallsAreReportedByAll(int elements) throws Exception {
        List<String> messages = inAll(new int[] {1, 1}, joined -> {
            MemorySegment buffer = joined.allocate(joined.firstRank(), 4L * elements);
            try {
                joined.allReduce(List.of(buffer), joined.firstRank() == 0 ? 1 : elements, DataType.F32, ReduceOp.SUM);
                return "";
            } catch (IllegalStateException e) {
                return String.valueOf(e.getMessage());
            }
        });
        assertThat(messages).allMatch(message -> message.contains("another call"));
    }

    @Test
    void differentSettingsAreReportedByAll() throws Exception {
        try (ExecutorService threads = Executors.newCachedThreadPool()) {
            List<Future<Communicator>> joining = new ArrayList<>();
            for (int p = 0; p < 2; p++) {
                int process = p;
                joining.add(
                        threads.submit(() -> Communicator.join(MACHINE.subset(0, 1 + process), config(process, 2), 1)));
            }
            for (Future<Communicator> each : joining) {
                assertThatThrownBy(each::get).cause().hasMessageContaining("processes [1] have another machine");
            }
        }
    }

    @Test
    void aProcessThatDoesNotJoinIsNamed() {
        Config alone = Config.builder()
                .set("BANYAN_RANK", "0")
                .set("BANYAN_WORLD_SIZE", "2")
                .set("BANYAN_RENDEZVOUS", folder.resolve("job").toString())
                .set("BANYAN_TIMEOUT_MS", "100")
                .build();
        assertThatThrownBy(() -> Communicator.join(MACHINE.subset(0, 1), alone, 1))
                .isInstanceOf(CollectiveTimeoutException.class)
                .hasMessageContaining("process 1 of 2 has not joined");
    }

    @Test
    void aFileOfAProcessThatHasEndedIsIgnored() throws IOException {
        Path job = Files.createDirectory(folder.resolve("job"));
        String namespace = Files.readSymbolicLink(Path.of("/proc/self/ns/pid")).toString();
        Path left = Files.createFile(job.resolve("banyan-" + namespace.replaceAll("\\D", "") + "-999999999-5-7"));
        Config second = Config.builder()
                .set("BANYAN_RANK", "1")
                .set("BANYAN_WORLD_SIZE", "2")
                .set("BANYAN_RENDEZVOUS", job.toString())
                .set("BANYAN_TIMEOUT_MS", "100")
                .build();
        assertThatThrownBy(() -> Communicator.join(MACHINE.subset(0, 1), second, 1))
                .isInstanceOf(CollectiveTimeoutException.class)
                .hasMessageContaining("process 0 (process 999999999) of the job in " + job + " has ended");
        assertThat(left).doesNotExist();
        assertThat(job).exists();
    }

    /** A GPU of the second process cannot be used; the first one waits for it. */
    public static final class OneBrokenGpu implements Backend.Provider, JoiningProvider {
        @Override
        public String name() {
            return "one broken GPU";
        }

        @Override
        public List<String> busIds() {
            throw new UnsupportedOperationException();
        }

        @Override
        public Backend open(Machine machine, Config config, int... devices) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Joined join(Job job, Machine machine, Config config, int... devices) {
            if (job.process() == 1) {
                throw new IllegalStateException("no kernel image for this GPU");
            }
            job.meet("joining", Long.MAX_VALUE);
            throw new AssertionError();
        }
    }

    @Test
    void aProcessThatFailsWhenAllHaveJoinedIsNamedAsFailed() throws Exception {
        Path services = Files.createDirectories(folder.resolve("META-INF/services"));
        Files.writeString(services.resolve(Backend.Provider.class.getName()), OneBrokenGpu.class.getName());
        Machine machine = MACHINE.subset(0, 1);
        try (URLClassLoader loader =
                        new URLClassLoader(new URL[] {folder.toUri().toURL()});
                ExecutorService threads = Executors.newCachedThreadPool()) {
            List<Future<Communicator>> joining = IntStream.range(0, 2)
                    .mapToObj(process -> threads.submit(() -> {
                        Thread.currentThread().setContextClassLoader(loader);
                        return Communicator.joinOnGpus(machine, config(process, 2), 0);
                    }))
                    .toList();
            assertThatThrownBy(joining.get(1)::get).hasRootCauseMessage("no kernel image for this GPU");
            assertThatThrownBy(joining.get(0)::get)
                    .rootCause()
                    .hasMessageMatching("rank 1 \\(process [0-9]+\\) failed or was aborted, which broke the job; .*");
        }
    }

    @Test
    void aProcessWithoutANumberSaysHowToGiveOne() {
        assertThatThrownBy(() -> Communicator.join(MACHINE, Config.defaults(), 1))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("set BANYAN_RANK and BANYAN_WORLD_SIZE");
    }
}
