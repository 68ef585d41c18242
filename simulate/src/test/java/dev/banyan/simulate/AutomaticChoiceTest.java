package dev.banyan.simulate;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.config.Config;
import dev.banyan.schedule.internal.algorithm.CollectiveRequest;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.schedule.plan.Execution;
import dev.banyan.schedule.plan.PlannedSchedule;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.type.Collective;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Presets;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Compares the automatic choice with everything that could have been taken, by the same simulator. */
class AutomaticChoiceTest {
    private static final long LEAST_CHUNK = 4 << 10;
    private static final int MOST_STEPS = 60_000;

    private static List<AlgorithmChoice> algorithms() {
        return AlgorithmChoice.scheduled();
    }

    /** Returns the trials of {@code banyan tune}, chunks apart: all algorithms, and packings of 1, 2, 4, ... trees. */
    private static List<AlgorithmConfig> competitors(Planner planner) {
        int trees = planner.plan(AlgorithmConfig.of(AlgorithmChoice.PACKING), allReduce(1 << 20))
                .schedule()
                .chunks()
                .size();
        return Stream.concat(
                        algorithms().stream().map(AlgorithmConfig::of),
                        IntStream.iterate(1, most -> most < trees, most -> 2 * most)
                                .mapToObj(most -> AlgorithmConfig.of(AlgorithmChoice.PACKING)
                                        .withMaxTrees(most)))
                .toList();
    }

    /** Presets without their aliases. */
    static List<String> machines() {
        return Presets.names().stream()
                .filter(name -> preset(name).name().equals(name))
                .toList();
    }

    private static Machine preset(String name) {
        return Machine.preset(name);
    }

    private static CollectiveRequest allReduce(long bytes) {
        return new CollectiveRequest(Collective.ALL_REDUCE, -1, bytes / 4, 4, true, Long.MAX_VALUE);
    }

    /** All of the schedule is simulated, whatever the planner's own prediction is. */
    private static double us(Planner planner, SimulatedCosts costs, AlgorithmConfig choice, CollectiveRequest request) {
        PlannedSchedule planned = planner.plan(choice, request);
        return costs.predictedUs(planned.schedule(), planned.links());
    }

    /** One planner for all sizes: packings of few trees take long to find. */
    private static void check(String name, LongStream sizes) {
        Machine machine = preset(name);
        SimulatedCosts costs = new SimulatedCosts(machine, Profiles.of(machine));
        Planner planner = new Planner(machine, Config.defaults(), costs, costs.platform());
        sizes.forEach(bytes -> check(planner, costs, bytes));
    }

    /** Chunks are those of the sweep: powers of two. */
    private static void check(Planner planner, SimulatedCosts costs, long bytes) {
        CollectiveRequest request = allReduce(bytes);
        AlgorithmConfig automatic = planner.cut(planner.choose(request), request);
        double taken = us(planner, costs, automatic, request);
        for (AlgorithmConfig competitor : competitors(planner)) {
            long longest = Math.max(LEAST_CHUNK, 2 * Long.highestOneBit(bytes));
            for (long length = longest; length >= LEAST_CHUNK; length /= 2) {
                PlannedSchedule planned = planner.plan(competitor.withChunkBytes(length), request);
                if (planned.schedule().stepCount() > MOST_STEPS) {
                    break; // shorter chunks cost more still
                }
                double other = costs.predictedUs(planned.schedule(), planned.links());
                assertThat(taken)
                        .as(
                                "%s on %s, %d bytes, against %s",
                                automatic, costs.network().name(), bytes, planned.choice())
                        .isLessThanOrEqualTo(1.05 * other);
            }
        }
    }

    /** A third of the machines each for short, medium and long calls. */
    @ParameterizedTest
    @MethodSource("machines")
    void noChoiceIsMoreThanFivePercentFaster(String name) {
        long largest = preset(name).size() <= 8 ? 3 << 20 : 300 << 10;
        long[] sizes = {1 << 10, 100 << 10, largest};
        check(name, LongStream.of(sizes[(machines().indexOf(name) + 1) % sizes.length]));
    }

    @ParameterizedTest
    @MethodSource("machines")
    @Tag("soak")
    void noChoiceIsMoreThanFivePercentFasterOnAnyMachine(String name) {
        long largest = preset(name).size() <= 8 ? 3 << 20 : 300 << 10;
        check(name, LongStream.of(1 << 10, 100 << 10, largest));
    }

    /** If copies meet on shared links, the least time is at lengths that are not between two good ones. */
    @ParameterizedTest
    @CsvSource({"pcie-4,655360", "pcie-8,3031012", "p3.8xlarge,58720256", "l40sx8,14680064"})
    void noChoiceIsMoreThanFivePercentFasterWhereTimesAreRough(String name, long bytes) {
        check(name, LongStream.of(bytes));
    }

    @ParameterizedTest
    @CsvSource({"pcie-8,4194304", "l40sx8,83886080"})
    @Tag("soak")
    void noChoiceIsMoreThanFivePercentFasterOfLongerCallsWhereTimesAreRough(String name, long bytes) {
        check(name, LongStream.of(bytes));
    }

    @ParameterizedTest
    @MethodSource("machines")
    @Tag("soak")
    void noChoiceIsMoreThanFivePercentFasterAtAnySize(String name) {
        check(
                name,
                LongStream.iterate(1 << 10, bytes -> bytes <= 1 << 30, bytes -> 2 * bytes)
                        .flatMap(bytes -> LongStream.of(bytes, bytes / 4 * 5, bytes / 4 * 7))
                        .filter(bytes -> bytes <= 1 << 30));
    }

    /** Kernels cut data by themselves, and a switch that adds up and copies takes load off the links. */
    @ParameterizedTest
    @ValueSource(strings = {"p3.16xlarge", "dgx-a100", "dgx-h100", "gb200-tray"})
    void noAlgorithmIsMoreThanFivePercentFasterByKernels(String name) {
        Machine machine = preset(name);
        SimulatedCosts costs = new SimulatedCosts(machine, Profiles.of(machine), Execution.PROGRAMS);
        Planner planner = new Planner(machine, Config.defaults(), costs, costs.platform());
        for (Collective collective : Collective.values()) {
            for (long count : new long[] {1 << 12, 1 << 21}) {
                int root = collective.hasRoot() ? 0 : -1;
                CollectiveRequest request = new CollectiveRequest(collective, root, count, 4, false, Long.MAX_VALUE);
                AlgorithmConfig automatic = planner.choose(request);
                double taken = planner.predictedUs(automatic, request);
                for (AlgorithmChoice algorithm : algorithms()) {
                    assertThat(taken)
                            .as("%s of %d elements on %s by %s, not %s", collective, count, name, automatic, algorithm)
                            .isLessThanOrEqualTo(1.05 * planner.predictedUs(AlgorithmConfig.of(algorithm), request));
                }
            }
        }
    }

    /** A switch adds up floats, but no doubles: what bounds these does not bound those. */
    @Test
    void doublesDoNotDecideForFloats() {
        Machine machine = preset("dgx-h100");
        SimulatedCosts costs = new SimulatedCosts(machine, Profiles.of(machine), Execution.PROGRAMS);
        Planner planner = new Planner(machine, Config.defaults(), costs, costs.platform());
        Planner other = new Planner(machine, Config.defaults(), costs, costs.platform());
        planner.choose(new CollectiveRequest(Collective.REDUCE, 0, 1 << 20, 8, false, Long.MAX_VALUE));
        CollectiveRequest floats = new CollectiveRequest(Collective.REDUCE, 0, 1 << 21, 4, false, Long.MAX_VALUE);
        assertThat(planner.choose(floats)).isEqualTo(other.choose(floats));
    }

    /** Compares the prediction that does not try all of a call with one that does. */
    @ParameterizedTest
    @ValueSource(strings = {"p3.16xlarge", "dgx-a100", "pcie-8"})
    void shortCallsTellOfLongOnes(String name) {
        Machine machine = preset(name);
        SimulatedCosts costs = new SimulatedCosts(machine, Profiles.of(machine));
        Planner planner = new Planner(machine, Config.defaults(), costs, costs.platform());
        CollectiveRequest request = allReduce(256 << 20);
        for (AlgorithmChoice algorithm : algorithms()) {
            if (algorithm == AlgorithmChoice.ONE_SHOT) {
                // It is for short calls.
                continue;
            }
            AlgorithmConfig choice = AlgorithmConfig.of(algorithm)
                    .withChunkBytes(algorithm == AlgorithmChoice.RING ? 64 << 10 : 256 << 10);
            double all = us(planner, costs, choice, request);
            assertThat(planner.predictedUs(choice, request)).as("%s", choice).isBetween(0.95 * all, 1.05 * all);
        }
    }

    /** A tree has less latency, several have more bandwidth: they cross once, below the default array bound. */
    @Test
    void treesCrossOnceOnP3() {
        Machine machine = preset("p3.16xlarge");
        SimulatedCosts costs = new SimulatedCosts(machine, Profiles.of(machine));
        Planner planner = new Planner(machine, Config.defaults(), costs, costs.platform());
        List<Boolean> multiIsFaster = new ArrayList<>();
        for (long bytes = 1 << 10; bytes <= 4 * Planner.DEFAULT_TREE_ARRAY_BOUND; bytes *= 2) {
            CollectiveRequest request = allReduce(bytes);
            multiIsFaster.add(planner.predictedUs(AlgorithmConfig.of(AlgorithmChoice.MULTI_TREE), request)
                    < planner.predictedUs(AlgorithmConfig.of(AlgorithmChoice.SINGLE_TREE), request));
        }
        assertThat(multiIsFaster).isSorted().endsWith(true);
    }

    @Test
    void theSimulatorIsFoundAsAService() {
        Machine machine = preset("dgx-2");
        Planner found = Planner.of(machine, Config.defaults());
        SimulatedCosts costs = new SimulatedCosts(machine, Profiles.of(machine));
        Planner given = new Planner(machine, Config.defaults(), costs, costs.platform());
        for (long bytes : new long[] {1 << 10, 1 << 20}) {
            AlgorithmConfig choice = found.choose(allReduce(bytes));
            assertThat(choice).isEqualTo(given.choose(allReduce(bytes)));
            assertThat(found.cut(choice, allReduce(bytes)).cuts()).isTrue();
        }
        // Small calls on a switch are no matter for a tree of many hops, which is what links alone would say.
        assertThat(found.choose(allReduce(1 << 10)).algorithm()).isNotEqualTo(AlgorithmChoice.SINGLE_TREE);
    }

    @Test
    void whatWasAskedBeforeChangesNothing() {
        Machine machine = preset("dgx-1p");
        SimulatedCosts costs = new SimulatedCosts(machine, Profiles.of(machine));
        Planner upwards = new Planner(machine, Config.defaults(), costs, costs.platform());
        Planner downwards = new Planner(machine, Config.defaults(), costs, costs.platform());
        List<Long> sizes = List.of(1_000L, 50_000L, 51_000L, 900_000L, 901_000L);
        List<AlgorithmConfig> up = sizes.stream()
                .map(bytes -> upwards.cut(upwards.choose(allReduce(bytes)), allReduce(bytes)))
                .toList();
        List<AlgorithmConfig> down = sizes.reversed().stream()
                .map(bytes -> downwards.cut(downwards.choose(allReduce(bytes)), allReduce(bytes)))
                .toList();
        assertThat(down.reversed()).isEqualTo(up);
    }
}
