package dev.banyan.kvstore;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.config.Config;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.host.HostBackend;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.Algorithms;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.plan.Reproducible;
import dev.banyan.schedule.plan.SizeRules;
import dev.banyan.schedule.type.DataType;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Presets;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * With BANYAN_REPRODUCIBLE=1 every way gives the bits of a plain sum in the order of ranks, with exact of the sum
 * rounded once.
 */
class ReproducibleStoreTest {
    private static final Machine MACHINE =
            Presets.find("p3.16xlarge").orElseThrow().subset(0, 1, 2, 3, 4, 5);
    private static final int[] COUNTS = {1, 3, 17, 64, 1000, 4099, 30_001};

    @ParameterizedTest
    @EnumSource(value = AlgorithmChoice.class, names = "NCCL", mode = EnumSource.Mode.EXCLUDE)
    void allWaysGiveTheSameBits(AlgorithmChoice algorithm) {
        allWaysGiveTheSameBits(algorithm, Reproducible.RANK_ORDER);
    }

    @ParameterizedTest
    @EnumSource(value = AlgorithmChoice.class, names = "NCCL", mode = EnumSource.Mode.EXCLUDE)
    void allWaysRoundOnce(AlgorithmChoice algorithm) {
        allWaysGiveTheSameBits(algorithm, Reproducible.EXACT);
    }

    private static void allWaysGiveTheSameBits(AlgorithmChoice algorithm, Reproducible reproducible) {
        for (long chunkBytes : new long[] {Long.MAX_VALUE, 4096}) {
            for (long fusionBytes : new long[] {0, 1 << 14}) {
                Config config = Config.builder()
                        .set(Algorithms.REPRODUCIBLE, reproducible)
                        .set(Planner.ALGORITHM, SizeRules.always(algorithm))
                        .set(Planner.CHUNK_BYTES, chunkBytes)
                        .set(KVStore.FUSION_BYTES, fusionBytes)
                        .set(Planner.TREE_ARRAY_BOUND, chunkBytes == 4096 ? 500L : 1_000_000L)
                        .set(HostBackend.THREADS, 2)
                        .build();
                try (Communicator communicator = Communicator.create(MACHINE, config)) {
                    for (String type : List.of("device", "tree", "ring", "auto")) {
                        check(type, communicator, reproducible);
                    }
                }
            }
        }
    }

    private static void check(String type, Communicator communicator, Reproducible reproducible) {
        Random random = new Random(COUNTS.length);
        List<Key> keys = new ArrayList<>();
        List<List<MemorySegment>> arrays = new ArrayList<>();
        List<List<MemorySegment>> pulled = new ArrayList<>();
        List<List<MemorySegment>> exchanged = new ArrayList<>();
        List<float[]> expected = new ArrayList<>();
        try (KVStore store = KVStore.create(type, communicator)) {
            for (int count : COUNTS) {
                keys.add(Key.of(count));
                arrays.add(Floats.random(communicator, count, random));
                pulled.add(Floats.zeros(communicator, count));
                exchanged.add(Floats.zeros(communicator, count));
                expected.add(
                        reproducible == Reproducible.EXACT
                                ? Floats.roundedSum(arrays.getLast())
                                : Floats.sumByRank(arrays.getLast()));
                store.init(count, MemorySegment.ofArray(new float[count]), count, DataType.F32);
            }
            var _ = store.pushAll(keys, arrays, 0);
            var _ = store.pullAll(keys, pulled, 0);
            var _ = store.pushPullAll(keys, arrays, exchanged, 0);
            var _ = store.pushPullAll(keys, arrays, arrays, 0);
            store.barrier();
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
