package dev.banyan.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.config.Config;
import dev.banyan.cuda.emulator.CudaEmulator;
import dev.banyan.cuda.internal.graph.GraphCache;
import dev.banyan.cuda.internal.graph.Moves;
import dev.banyan.cuda.internal.ptx.Kernel;
import dev.banyan.cuda.type.PeerRule;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.internal.host.HostBackend;
import dev.banyan.schedule.internal.algorithm.Samples;
import dev.banyan.schedule.internal.program.ProgramSizes;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.plan.SizeRules;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Presets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Programs for machines of all kinds: every preset, its subsets, and random links give the bits of the host backend.
 */
class ProgramMachinesTest {
    private static final Duration PATIENCE = FaultClock.TIMEOUT;
    private static final int MOST_RANKS = Kernel.Program.MOST_RANKS;
    private static final int CALLS = 4;

    private final CudaEmulator emulator = EmulatedProcess.begin();

    @Test
    void someMachinesGiveTheBitsOfTheHost() {
        compare(6, 0);
    }

    @Test
    @Tag("soak")
    void fiveHundredSubsetsAndAsManyRandomMachinesGiveTheBitsOfTheHost() {
        Presets.all().stream()
                .filter(machine -> machine.size() <= MOST_RANKS)
                .forEach(machine -> compare(
                        machine, "a preset", new SplittableRandom(machine.name().hashCode())));
        compare(1000, 1000);
    }

    /** @param first seed of the first machine */
    private void compare(int machines, long first) {
        for (long seed = first; seed < first + machines; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            Machine machine = seed % 2 == 0 ? subset(random) : randomLinks(random);
            compare(machine, "seed " + seed, random);
        }
    }

    private static Machine subset(SplittableRandom random) {
        Machine preset = RandomChoices.any(Presets.all(), random);
        List<Integer> devices =
                IntStream.range(0, preset.size()).boxed().collect(Collectors.toCollection(ArrayList::new));
        Collections.shuffle(devices, new Random(random.nextLong()));
        int size = Math.min(preset.size(), random.nextInt(2, MOST_RANKS + 1));
        return preset.subset(
                devices.subList(0, size).stream().mapToInt(Integer::intValue).toArray());
    }

    private static Machine randomLinks(SplittableRandom random) {
        return Samples.machine(random.nextInt(2, MOST_RANKS + 1), random.nextBoolean(), new Random(random.nextLong()));
    }

    private void compare(Machine machine, String origin, SplittableRandom random) {
        EmulatedProcess.beginAnother(emulator);
        emulator.tell("devices " + machine.size() + " switched");
        AlgorithmChoice algorithm = RandomChoices.any(RandomChoices.ALGORITHMS, random);
        Config config = Config.builder()
                .set(Planner.ALGORITHM, SizeRules.always(algorithm))
                .set(HostBackend.THREADS, 1)
                .build();
        Tuning tuning = new Tuning(
                Moves.DEFAULT,
                GraphCache.MOST_NODES,
                FaultClock.STOPPED,
                false,
                ExecutorChoice.AUTO,
                random.nextBoolean() ? ProgramSizes.DEFAULT : new ProgramSizes(0, 512, 2, 64),
                1,
                1);
        int[] devices = IntStream.range(0, machine.size()).toArray();
        HostComparison comparison = new HostComparison(random);
        try (CudaBackend backend = new CudaBackend(devices, PATIENCE, PeerRule.ALL, 64 << 20, tuning);
                Communicator host = Communicator.onHost(machine, config);
                Communicator cuda = Communicator.create(machine, config, backend)) {
            for (int call = 0; call < CALLS; call++) {
                Collective collective = RandomChoices.any(List.of(Collective.values()), random);
                DataType type = RandomChoices.any(List.of(DataType.values()), random);
                ReduceOp op =
                        collective.reduces() ? RandomChoices.any(List.of(ReduceOp.values()), random) : ReduceOp.SUM;
                comparison.compare(
                        host,
                        cuda,
                        collective,
                        type,
                        op,
                        random.nextBoolean(),
                        random.nextInt(700),
                        random.nextBoolean() ? type.bytes() : 0);
            }
        } catch (AssertionError | RuntimeException e) {
            throw new AssertionError(algorithm + " on " + machine.name() + " of " + machine.size() + ", " + origin, e);
        }
        assertThat(emulator.problems()).isEmpty();
    }
}
