package dev.banyan.schedule.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.config.Config;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.ScheduleVerifier;
import dev.banyan.schedule.internal.algorithm.CollectiveRequest;
import dev.banyan.schedule.type.Collective;
import dev.banyan.topology.Device;
import dev.banyan.topology.Machine;
import dev.banyan.trees.packing.ForestCost;
import dev.banyan.trees.packing.LogicalLink;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.function.IntToDoubleFunction;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class PlannerTest {
    private static final Machine P3 = Machine.preset("p3.16xlarge");
    private static final Config BOUND =
            Config.builder().set(Planner.TREE_ARRAY_BOUND, 1000L).build();

    private static CollectiveRequest request(Collective collective, long count) {
        return new CollectiveRequest(collective, collective.hasRoot() ? 0 : -1, count, 4, true, Long.MAX_VALUE);
    }

    /** Returns a planner by link costs alone. */
    private static Planner planner(Machine machine, Config config) {
        return new Planner(machine, config, null, SIMULATED);
    }

    private static Machine unconnected(int devices) {
        return new Machine(
                "bare",
                IntStream.range(0, devices)
                        .mapToObj(i -> Device.named("GPU" + i))
                        .toList(),
                List.of(),
                List.of(),
                List.of(),
                List.of());
    }

    @Test
    void aboveTheArrayBoundLinksDecide() {
        Planner planner = planner(P3, BOUND);
        assertThat(planner.choose(request(Collective.ALL_REDUCE, 1000)).algorithm())
                .isEqualTo(AlgorithmChoice.SINGLE_TREE);
        for (Collective collective : Collective.values()) {
            AlgorithmChoice choice =
                    planner.choose(request(collective, 20_000_000)).algorithm();
            assertThat(choice).as("%s", collective).isEqualTo(AlgorithmChoice.PACKING);
            assertThat(planner.plan(AlgorithmConfig.of(choice), request(collective, 20_000_000))
                            .schedule()
                            .algorithm())
                    .isEqualTo("packing");
        }
        assertThat(planner.choose(request(Collective.ALL_REDUCE, 1001)).algorithm())
                .isEqualTo(planner(P3, BOUND)
                        .choose(request(Collective.ALL_REDUCE, 1001))
                        .algorithm());
    }

    @Test
    void settingsComeFirst() {
        Config star = Config.builder()
                .set(Planner.USE_TREE, false)
                .set(Planner.TREE_ARRAY_BOUND, 0L)
                .build();
        assertThat(planner(P3, star)
                        .choose(request(Collective.ALL_REDUCE, 1 << 30))
                        .algorithm())
                .isEqualTo(AlgorithmChoice.STAR);
        Config ring = Config.builder()
                .set(Planner.ALGORITHM, SizeRules.always(AlgorithmChoice.RING))
                .build();
        assertThat(planner(P3, ring)
                        .choose(request(Collective.ALL_REDUCE, 1 << 30))
                        .algorithm())
                .isEqualTo(AlgorithmChoice.RING);
    }

    private static final Platform SIMULATED = Platform.simulated(Execution.CHUNKS);

    @TempDir
    private Path folder;

    /** A file with allreduces of P3 on some platforms. */
    private Path tuned(String rules, Platform... platforms) throws IOException {
        TuningFile file = TuningFile.EMPTY;
        for (Platform platform : platforms) {
            file = file.with(Tuning.of(platform, P3, Map.of(Collective.ALL_REDUCE, SizeRules.parse(rules))));
        }
        return Files.write(folder.resolve("tuned.ini"), file.lines());
    }

    /** Each platform follows its own section alone, whatever else the file holds. */
    @Test
    void tuningOfOneBackendNeverChangesTheChoiceOfAnother() throws IOException {
        List<Platform> platforms = List.of(
                SIMULATED,
                Platform.simulated(Execution.PROGRAMS),
                Platform.ofThisHost(),
                new Platform("cuda", Execution.PROGRAMS, "8 x Tesla V100", "CUDA 12.4"),
                new Platform("cuda", Execution.CHUNKS, "8 x Tesla V100", "CUDA 12.4"),
                new Platform("cuda", Execution.PROGRAMS, "8 x Tesla V100", "CUDA 13.0"),
                new Platform("cuda", Execution.PROGRAMS, "8 x NVIDIA A100", "CUDA 12.4"));
        CollectiveRequest request = request(Collective.ALL_REDUCE, 1 << 18);
        for (Platform tuned : platforms) {
            Config config =
                    Config.builder().set(Config.TUNING, tuned("ring@4K", tuned)).build();
            for (Platform other : platforms) {
                AlgorithmConfig choice = new Planner(P3, config, null, other).choose(request);
                AlgorithmConfig untuned = new Planner(P3, Config.defaults(), null, other).choose(request);
                if (other.equals(tuned)) {
                    assertThat(choice).as("%s", other).hasToString("ring@4K").isNotEqualTo(untuned);
                } else {
                    assertThat(choice).as("%s by %s", other, tuned).isEqualTo(untuned);
                }
            }
        }
    }

    /** Whatever needs a schedule passes a tuned NCCL over, and refuses one that was asked for. */
    @Test
    void ncclHasNoSchedule() throws IOException {
        Path file = tuned("nccl:1M,ring@64K", SIMULATED);
        Config tuned = Config.builder().set(Config.TUNING, file).build();
        CollectiveRequest small = request(Collective.ALL_REDUCE, 1000);
        Planner planner = planner(P3, tuned);
        assertThat(planner.choose(small)).isEqualTo(AlgorithmConfig.of(AlgorithmChoice.NCCL));
        assertThat(planner.isAutomatic(small)).isTrue();
        assertThat(planner.chooseSchedule(small)).isEqualTo(AlgorithmConfig.of(AlgorithmChoice.SINGLE_TREE));
        assertThat(planner.chooseSchedule(request(Collective.ALL_REDUCE, 1 << 20)))
                .hasToString("ring@64K");
        Config cut = Config.builder()
                .set(Config.TUNING, file)
                .set(Planner.ALGORITHM, SizeRules.parse("auto@4K"))
                .build();
        assertThat(planner(P3, cut).choose(small)).hasToString("nccl");

        Config named = Config.builder()
                .set(Planner.ALGORITHM, SizeRules.always(AlgorithmChoice.NCCL))
                .build();
        Planner asked = planner(P3, named);
        assertThat(asked.choose(small)).hasToString("nccl");
        assertThat(asked.isAutomatic(small)).isFalse();
        assertThatThrownBy(() -> asked.chooseSchedule(small))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("BANYAN_ALGORITHM names nccl, which has no schedule; name another algorithm");
        assertThatThrownBy(() -> SizeRules.parse("nccl@64K"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("nccl cuts data by itself; leave the length of chunks out");
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 6})
    void machinesWithoutAnyLinkWork(int devices) {
        for (AlgorithmChoice choice : List.of(AlgorithmChoice.AUTO, AlgorithmChoice.PACKING)) {
            Config config = Config.builder()
                    .set(Planner.ALGORITHM, SizeRules.always(choice))
                    .set(Planner.TREE_ARRAY_BOUND, 0L)
                    .build();
            Planner planner = planner(unconnected(devices), config);
            for (Collective collective : Collective.values()) {
                CollectiveRequest request = request(collective, 1000);
                ScheduleVerifier.verify(
                        planner.plan(planner.choose(request), request).schedule());
            }
        }
    }

    @ParameterizedTest
    @EnumSource(Collective.class)
    void groupsOfAllKindsWork(Collective collective) {
        for (int[] group : new int[][] {{0, 1, 6}, {0, 5}, {3, 0, 4, 7, 1}}) {
            Planner planner = planner(P3.subset(group), BOUND);
            CollectiveRequest request = request(collective, 100_000);
            ScheduleVerifier.verify(
                    planner.plan(planner.choose(request), request).schedule());
        }
    }

    @Test
    void withoutAModelTheDefaultBoundHolds() {
        Planner planner = planner(P3, Config.defaults());
        assertThat(planner.choose(request(Collective.ALL_REDUCE, Planner.DEFAULT_TREE_ARRAY_BOUND)))
                .isEqualTo(AlgorithmConfig.of(AlgorithmChoice.SINGLE_TREE));
        assertThat(planner.choose(request(Collective.ALL_REDUCE, Planner.DEFAULT_TREE_ARRAY_BOUND + 1)))
                .isEqualTo(AlgorithmConfig.of(AlgorithmChoice.PACKING));
    }

    @Test
    void whatWasTunedIsForItsMachineOnly() throws IOException {
        Path file = tuned("ring@64K:1M,auto:2M,packing/2", SIMULATED);
        Config config = Config.builder().set(Config.TUNING, file).build();
        Planner planner = planner(P3, config);
        AlgorithmConfig ring = AlgorithmConfig.of(AlgorithmChoice.RING).withChunkBytes(65536);
        assertThat(planner.choose(request(Collective.ALL_REDUCE, 1 << 18))).isEqualTo(ring);
        assertThat(planner.choose(request(Collective.ALL_REDUCE, 1 << 19)))
                .isEqualTo(AlgorithmConfig.of(AlgorithmChoice.SINGLE_TREE));
        assertThat(planner.choose(request(Collective.BROADCAST, 1 << 18)))
                .isEqualTo(AlgorithmConfig.of(AlgorithmChoice.SINGLE_TREE));
        CollectiveRequest large = request(Collective.ALL_REDUCE, 1 << 20);
        PlannedSchedule planned = planner.plan(planner.choose(large), large);
        assertThat(planned.choice())
                .isEqualTo(AlgorithmConfig.of(AlgorithmChoice.PACKING).withMaxTrees(2));
        assertThat(planned.schedule().chunks()).hasSize(2);

        // A machine with as many devices, or even the same links in another order of ranks, is another machine.
        for (int[] group : new int[][] {{0, 1, 2, 3}, {1, 0, 2, 3, 4, 5, 6, 7}}) {
            assertThat(planner(P3.subset(group), config).choose(request(Collective.ALL_REDUCE, 1 << 18)))
                    .isEqualTo(AlgorithmConfig.of(AlgorithmChoice.SINGLE_TREE));
        }
        Config bound = Config.builder()
                .set(Config.TUNING, file)
                .set(Planner.TREE_ARRAY_BOUND, 1L)
                .build();
        assertThat(planner(P3, bound)
                        .choose(request(Collective.ALL_REDUCE, 1 << 18))
                        .algorithm())
                .isEqualTo(AlgorithmChoice.PACKING);
    }

    /** Returns a model that knows the number of chunks alone. */
    private static CostModel model(IntToDoubleFunction usOfChunks, double leastUsPerByte) {
        return new CostModel() {
            @Override
            public double predictedUs(Schedule schedule, List<LogicalLink> links) {
                return usOfChunks.applyAsDouble(schedule.chunks().size());
            }

            @Override
            public double leastUsPerByte(ForestCost cost, Schedule sample) {
                return leastUsPerByte;
            }
        };
    }

    private static FastestChoice fastest(CostModel model) {
        Algorithms algorithms = new Algorithms(P3, Config.defaults());
        return new FastestChoice(model, algorithms, new Prices(P3, algorithms::get), P3.size());
    }

    /** After a bad length, times fall with each further one, and at last below the first. */
    @Test
    void shorterChunksAreTriedAsLongAsTheyGain() {
        NavigableMap<Integer, Double> us =
                new TreeMap<>(Map.of(1, 100.0, 2, 125.0, 4, 107.0, 8, 103.0, 16, 100.5, 32, 98.0, 64, 95.0, 128, 96.0));
        CostModel model = model(chunks -> us.floorEntry(chunks).getValue(), 0);
        AlgorithmConfig tree = AlgorithmConfig.of(AlgorithmChoice.SINGLE_TREE);
        assertThat(fastest(model)
                        .cut(tree, request(Collective.ALL_REDUCE, 1 << 24))
                        .chunkBytes())
                .isBetween(1L << 20, (1L << 20) + 64);
    }

    @Test
    void noExtrapolatedTimeIsBelowTheBound() {
        CollectiveRequest request = request(Collective.ALL_REDUCE, 1 << 24);
        AlgorithmConfig tree = AlgorithmConfig.of(AlgorithmChoice.SINGLE_TREE).withChunkBytes(4096);
        assertThat(fastest(model(_ -> 5, 0)).us(tree, request)).isEqualTo(5);
        assertThat(fastest(model(_ -> 5, 1e-6)).us(tree, request)).isEqualTo(1e-6 * (1 << 26));
    }

    @Test
    void whatIsRememberedOfManySizesIsBounded() {
        CostModel model = model(chunks -> 1 + chunks, 0);
        FastestChoice fastest = fastest(model);
        for (int size = 1; size <= 1_500; size++) {
            fastest.of(List.of(AlgorithmChoice.values()).subList(1, 4), request(Collective.ALL_REDUCE, 1000L * size));
        }
        assertThat(fastest.keptTimes()).isEqualTo(FastestChoice.KEPT_TIMES);
        assertThat(fastest.of(List.of(AlgorithmChoice.SINGLE_TREE), request(Collective.ALL_REDUCE, 1000)))
                .isEqualTo(
                        fastest(model).of(List.of(AlgorithmChoice.SINGLE_TREE), request(Collective.ALL_REDUCE, 1000)));
    }

    @Test
    void tooManyChunksAreRefusedBeforeTheyAreMade() {
        Planner planner = planner(P3, Config.defaults());
        CollectiveRequest request = new CollectiveRequest(Collective.ALL_REDUCE, -1, 64 << 20, 4, true, 64);
        AlgorithmConfig ring = AlgorithmConfig.of(AlgorithmChoice.RING);

        assertThatThrownBy(() -> planner.plan(ring, request))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("256M in chunks of 64 are more than 131072 chunks; set BANYAN_CHUNK_BYTES or the @CHUNK of"
                        + " BANYAN_ALGORITHM to at least 2048 bytes");
        assertThatThrownBy(() -> planner.plan(ring.withChunkBytes(64), request(Collective.ALL_REDUCE, 64 << 20)))
                .hasMessageContaining("BANYAN_CHUNK_BYTES");
    }
}
