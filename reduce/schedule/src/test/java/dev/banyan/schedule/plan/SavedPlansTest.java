package dev.banyan.schedule.plan;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.config.Config;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.algorithm.CollectiveRequest;
import dev.banyan.schedule.algorithm.Packings;
import dev.banyan.schedule.type.Collective;
import dev.banyan.topology.Presets;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.ForestCost;
import dev.banyan.trees.packing.LogicalLink;
import dev.banyan.trees.packing.TreePacking;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SavedPlansTest {
    private static final AlgorithmConfig CHOICE = new AlgorithmConfig(AlgorithmChoice.PACKING, 4, 65536 + 64);

    @TempDir
    private Path folder;

    private static CollectiveRequest request(long count) {
        return new CollectiveRequest(Collective.ALL_REDUCE, -1, count, 4, true, Long.MAX_VALUE);
    }

    private SavedPlans saved(String key) {
        return new SavedPlans(folder, key);
    }

    private List<Path> files() throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.toList();
        }
    }

    @Test
    void keepsChoicesForTheSameKeyAlone() throws Exception {
        SavedPlans first = saved("key");
        CollectiveRequest rooted = new CollectiveRequest(Collective.BROADCAST, 3, 7, 2, false, 128);
        first.put(request(5), CHOICE);
        first.put(rooted, AlgorithmConfig.of(AlgorithmChoice.STAR));
        first.flush();
        assertThat(saved("key").choices())
                .containsExactly(
                        Map.entry(request(5), CHOICE), Map.entry(rooted, AlgorithmConfig.of(AlgorithmChoice.STAR)));
        assertThat(saved("key").choice(request(6))).isEmpty();
        assertThat(saved("another key").choices()).isEmpty();
        assertThat(files()).hasSize(1);
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(files().getFirst())))
                .isEqualTo("rw-------");
    }

    /** Each byte in turn is changed, and each length cut off. */
    @Test
    void ignoresDamagedFiles() throws Exception {
        SavedPlans first = saved("key");
        first.put(request(5), CHOICE);
        first.put(
                new SavedPlans.Packing(2, Collective.ALL_REDUCE, -1),
                packing("p3.8xlarge", 2).trees());
        first.flush();
        Path file = files().getFirst();
        byte[] intact = Files.readAllBytes(file);
        for (int i = 0; i < intact.length; i++) {
            byte[] damaged = intact.clone();
            damaged[i] ^= 1;
            Files.write(file, damaged);
            assertThat(saved("key").choices()).isEmpty();
            Files.write(file, Arrays.copyOf(intact, i));
            assertThat(saved("key").choices()).isEmpty();
        }
        Files.writeString(file, new String(intact, StandardCharsets.UTF_8).replace("plans 1", "plans 0"));
        SavedPlans old = saved("key");
        assertThat(old.choices()).isEmpty();
        old.put(request(6), CHOICE);
        old.flush();
        assertThat(saved("key").choices()).containsExactly(Map.entry(request(6), CHOICE));
    }

    @Test
    void folderThatCannotBeWrittenCountsAsEmpty() throws Exception {
        Path file = Files.createFile(folder.resolve("file"));
        SavedPlans plans = new SavedPlans(file, "key");
        plans.put(request(5), CHOICE);
        plans.flush();
        assertThat(plans.choice(request(5))).contains(CHOICE);
        assertThat(new SavedPlans(file, "key").choices()).isEmpty();
    }

    @Test
    void dropsTheOldestEntriesAndFiles() throws Exception {
        SavedPlans plans = saved("key");
        for (int i = 0; i <= SavedPlans.MOST_ENTRIES; i++) {
            plans.put(request(i), CHOICE);
        }
        plans.flush();
        assertThat(saved("key").choices()).hasSize(SavedPlans.MOST_ENTRIES);
        assertThat(saved("key").choice(request(0))).isEmpty();
        for (int i = 0; i < SavedPlans.MOST_FILES + 3; i++) {
            SavedPlans other = saved("key " + i);
            other.put(request(i), CHOICE);
            other.flush();
        }
        assertThat(files()).hasSize(SavedPlans.MOST_FILES);
    }

    private static TreePacking packing(String machine, int maxTrees) {
        return Packings.best(Network.of(Presets.find(machine).orElseThrow()), maxTrees)
                .packing(Collective.ALL_REDUCE, -1);
    }

    @ParameterizedTest
    @ValueSource(strings = {"p3.16xlarge", "dgx-1p", "mi250x8", "dgx-a100"})
    void packingsAreTheSameAfterwards(String machine) throws Exception {
        Network network = Network.of(Presets.find(machine).orElseThrow());
        SavedPlans first = saved(machine);
        Packings best = Packings.best(network);
        TreePacking made =
                new SavedPackings(first, network, Integer.MAX_VALUE, best).packing(Collective.ALL_REDUCE, -1);
        first.flush();
        Packings none = (_, _) -> {
            throw new AssertionError("the packing was saved");
        };
        assertThat(new SavedPackings(saved(machine), network, Integer.MAX_VALUE, none)
                        .packing(Collective.ALL_REDUCE, -1))
                .isEqualTo(made)
                .isEqualTo(best.packing(Collective.ALL_REDUCE, -1));
    }

    @Test
    void treesOfAnotherMachineAreNotUsed() {
        Network network = Network.of(Presets.find("p3.16xlarge").orElseThrow());
        SavedPlans plans = saved("key");
        plans.put(
                new SavedPlans.Packing(1, Collective.ALL_REDUCE, -1),
                packing("p3.8xlarge", 1).trees());
        Packings best = Packings.best(network, 1);
        assertThat(new SavedPackings(plans, network, 1, best).packing(Collective.ALL_REDUCE, -1))
                .isEqualTo(best.packing(Collective.ALL_REDUCE, -1));
    }

    /** Prices each step equally. */
    private static final class Steps implements CostModel {
        @Override
        public double predictedUs(Schedule schedule, List<LogicalLink> links) {
            return 1 + schedule.stepCount();
        }

        @Override
        public double leastUsPerByte(ForestCost cost) {
            return 0;
        }
    }

    @Test
    void treesOfTheFirstCallAreMadeAhead() throws Exception {
        var machine = Presets.find("p3.16xlarge").orElseThrow();
        SavedPlans plans = saved("key");
        new Planner(machine, Config.defaults(), Steps::new, plans, Platform.simulated(Execution.CHUNKS))
                .prepare(plans.choices());
        plans.flush();
        for (int most : new int[] {Integer.MAX_VALUE, 4, 2, 1}) {
            assertThat(saved("key").trees(new SavedPlans.Packing(most, Collective.ALL_REDUCE, -1)))
                    .as("at most %d trees", most)
                    .contains(packing("p3.16xlarge", most).trees());
        }
        assertThat(saved("key").choices()).isEmpty();
    }

    @Test
    void nothingIsMadeAheadWhereTheAlgorithmIsSet() throws Exception {
        SavedPlans plans = saved("key");
        Config star = Config.builder()
                .set(Planner.ALGORITHM, SizeRules.always(AlgorithmChoice.STAR))
                .build();
        new Planner(
                        Presets.find("p3.16xlarge").orElseThrow(),
                        star,
                        () -> {
                            throw new AssertionError("no model is needed");
                        },
                        plans,
                        Platform.simulated(Execution.CHUNKS))
                .prepare(plans.choices());
        plans.flush();
        assertThat(files()).isEmpty();
    }

    @Test
    void plannersChooseTheSameWithoutTheModel() throws Exception {
        var machine = Presets.find("p3.8xlarge").orElseThrow();
        SavedPlans first = saved("key");
        Planner planner =
                new Planner(machine, Config.defaults(), Steps::new, first, Platform.simulated(Execution.CHUNKS));
        AlgorithmConfig choice = planner.choose(request(1000));
        Schedule schedule = planner.plan(choice, request(1000)).schedule();
        first.flush();
        Planner later = new Planner(
                machine,
                Config.defaults(),
                () -> {
                    throw new AssertionError("the choice was saved");
                },
                saved("key"),
                Platform.simulated(Execution.CHUNKS));
        assertThat(later.choose(request(1000))).isEqualTo(choice);
        assertThat(later.plan(choice, request(1000)).schedule()).isEqualTo(schedule);
        assertThat(new Planner(machine, Config.defaults(), new Steps()).choose(request(1000)))
                .isEqualTo(choice);
    }
}
