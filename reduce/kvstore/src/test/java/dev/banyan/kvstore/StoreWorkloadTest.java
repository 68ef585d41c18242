package dev.banyan.kvstore;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.config.Config;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.internal.host.HostBackend;
import dev.banyan.schedule.type.DataType;
import dev.banyan.topology.Machine;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Many keys in flight, for long. */
class StoreWorkloadTest {
    private static final int KEYS = 157;

    /** All keys in flight, round after round, without waiting in between: each round doubles what the last gave. */
    @Test
    void allKeysOfALargeModelMayBeInFlight() {
        rounds(10);
    }

    @Test
    @Tag("soak")
    void memoryStaysFlat() {
        Runtime runtime = Runtime.getRuntime();
        try (Communicator communicator = two();
                KVStore store = KVStore.builder(communicator).open()) {
            List<MemorySegment> arrays = Floats.zeros(communicator, 500);
            store.init(Key.of(0), MemorySegment.ofArray(new float[500]), 500, DataType.F32);
            long before = 0;
            long residentBefore = 0;
            for (int round = 0; round < 20_000; round++) {
                store.pushPull(Key.of(0), arrays, arrays).join();
                if (round == 10_000) {
                    System.gc();
                    before = runtime.totalMemory() - runtime.freeMemory();
                    residentBefore = residentOutsideTheHeap();
                }
            }
            System.gc();
            assertThat(runtime.totalMemory() - runtime.freeMemory()).isLessThan(before + (2 << 20));
            assertThat(residentOutsideTheHeap()).isLessThan(residentBefore + (16 << 20));
        }
    }

    /**
     * Returns the bytes of the process in memory, without the files that it maps and without the heap; 0 if the system
     * does not report them.
     */
    private static long residentOutsideTheHeap() {
        try (Stream<String> lines = Files.lines(Path.of("/proc/self/status"))) {
            long kilobytes = lines.filter(line -> line.startsWith("RssAnon:"))
                    .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")))
                    .findFirst()
                    .orElse(0);
            return Math.max(0, (kilobytes << 10) - Runtime.getRuntime().totalMemory());
        } catch (IOException e) {
            return 0;
        }
    }

    private static Communicator two() {
        return Communicator.onHost(
                Machine.preset("p3.16xlarge").subset(0, 1),
                Config.builder().set(HostBackend.THREADS, 2).build());
    }

    private static void rounds(int rounds) {
        try (Communicator communicator = two();
                KVStore store = KVStore.builder(communicator).open()) {
            List<List<MemorySegment>> arrays = new ArrayList<>();
            for (int k = 0; k < KEYS; k++) {
                int count = 1 + 997 * k % 5000;
                arrays.add(Floats.zeros(communicator, count));
                int key = k;
                arrays.getLast().forEach(array -> array.setAtIndex(ValueLayout.JAVA_FLOAT, 0, key));
                store.init(Key.of(k), arrays.getLast().getFirst(), count, DataType.F32);
            }
            for (int round = 0; round < rounds; round++) {
                for (int k = KEYS - 1; k >= 0; k--) {
                    var _ = store.pushPull(Key.of(k), arrays.get(k), arrays.get(k), -k);
                }
            }
            store.waitAll();
            float factor = 1 << rounds;
            assertThat(IntStream.range(0, KEYS))
                    .allSatisfy(k -> assertThat(arrays.get(k))
                            .allSatisfy(array -> assertThat(array.getAtIndex(ValueLayout.JAVA_FLOAT, 0))
                                    .isEqualTo(k * factor)));
        }
    }
}
