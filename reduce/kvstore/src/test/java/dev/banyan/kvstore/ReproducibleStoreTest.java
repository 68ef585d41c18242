package dev.banyan.kvstore;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.config.Config;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.internal.host.HostBackend;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.Algorithms;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.plan.SizeRules;
import dev.banyan.schedule.type.DataType;
import dev.banyan.test.CoveringArray;
import dev.banyan.topology.Machine;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** With BANYAN_REPRODUCIBLE=1 every way gives the bits of a reproducible sum. */
class ReproducibleStoreTest {
    private static final Machine MACHINE = Machine.preset("p3.16xlarge").subset(0, 1, 2, 3, 4, 5);
    private static final int[] COUNTS = {1, 3, 17, 64, 1000, 4099, 30_001};

    private static final List<AlgorithmChoice> CHOICES = Stream.of(AlgorithmChoice.values())
            .filter(choice -> choice != AlgorithmChoice.NCCL)
            .toList();
    private static final long[] CHUNK_BYTES = {Long.MAX_VALUE, 4096};
    private static final long[] FUSION_BYTES = {0, 1 << 14};
    private static final List<String> TYPES = List.of("device", "tree", "ring", "auto");

    /** Every two of algorithm, chunk length, fusion length and type of store meet. */
    @Test
    void everyTwoPropertiesOfAStoreGiveTheSameBits() {
        CoveringArray.ofPairs(CHOICES.size(), TYPES.size(), CHUNK_BYTES.length, FUSION_BYTES.length)
                .forEach(each -> check(
                        CHOICES.get(each[0]),
                        CHUNK_BYTES[each[2]],
                        FUSION_BYTES[each[3]],
                        List.of(TYPES.get(each[1]))));
    }

    @ParameterizedTest
    @EnumSource(value = AlgorithmChoice.class, names = "NCCL", mode = EnumSource.Mode.EXCLUDE)
    @Tag("soak")
    void allWaysGiveTheSameBits(AlgorithmChoice algorithm) {
        for (long chunkBytes : CHUNK_BYTES) {
            for (long fusionBytes : FUSION_BYTES) {
                check(algorithm, chunkBytes, fusionBytes, TYPES);
            }
        }
    }

    private static void check(AlgorithmChoice algorithm, long chunkBytes, long fusionBytes, List<String> types) {
        Config config = Config.builder()
                .set(Algorithms.REPRODUCIBLE, true)
                .set(Planner.ALGORITHM, SizeRules.always(algorithm))
                .set(Planner.CHUNK_BYTES, chunkBytes)
                .set(KVStore.FUSION_BYTES, fusionBytes)
                .set(Planner.TREE_ARRAY_BOUND, chunkBytes == 4096 ? 500L : 1_000_000L)
                .set(HostBackend.THREADS, 2)
                .build();
        try (Communicator communicator = Communicator.onHost(MACHINE, config)) {
            types.forEach(type -> check(type, communicator));
        }
    }

    private static void check(String type, Communicator communicator) {
        Random random = new Random(COUNTS.length);
        List<Key> keys = new ArrayList<>();
        List<List<MemorySegment>> arrays = new ArrayList<>();
        List<List<MemorySegment>> pulled = new ArrayList<>();
        List<List<MemorySegment>> exchanged = new ArrayList<>();
        List<float[]> expected = new ArrayList<>();
        try (KVStore store =
                KVStore.builder(communicator).type(StoreType.of(type)).open()) {
            for (int count : COUNTS) {
                keys.add(Key.of(count));
                arrays.add(Floats.random(communicator, count, random));
                pulled.add(Floats.zeros(communicator, count));
                exchanged.add(Floats.zeros(communicator, count));
                expected.add(Floats.reproducibleSum(arrays.getLast()));
                store.init(Key.of(count), MemorySegment.ofArray(new float[count]), count, DataType.F32);
            }
            var _ = store.pushAll(keys, arrays, 0);
            var _ = store.pullAll(keys, pulled, 0);
            var _ = store.pushPullAll(keys, arrays, exchanged, 0);
            var _ = store.pushPullAll(keys, arrays, arrays, 0);
            store.waitAll();
        }
        for (int k = 0; k < keys.size(); k++) {
            for (List<List<MemorySegment>> results : List.of(pulled, exchanged, arrays)) {
                for (MemorySegment result : results.get(k)) {
                    assertThat(Floats.values(result))
                            .as("%s, %s elements", type, keys.get(k))
                            .isEqualTo(expected.get(k));
                }
            }
        }
    }
}
