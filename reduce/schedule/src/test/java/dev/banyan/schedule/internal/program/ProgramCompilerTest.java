package dev.banyan.schedule.internal.program;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.config.Config;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.ScheduleException;
import dev.banyan.schedule.ScheduleProof;
import dev.banyan.schedule.ScheduleVerifier;
import dev.banyan.schedule.internal.algorithm.CollectiveAlgorithm;
import dev.banyan.schedule.internal.algorithm.CollectiveRequest;
import dev.banyan.schedule.internal.algorithm.RingAlgorithm;
import dev.banyan.schedule.internal.algorithm.Samples;
import dev.banyan.schedule.internal.algorithm.StarAlgorithm;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.AlgorithmHint;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.plan.SizeRules;
import dev.banyan.schedule.type.Collective;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Presets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ProgramCompilerTest {
    /** Every algorithm, collective, root, with and without direct stores, on few and on many blocks. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 5, 8})
    void programsDoWhatTheirSchedulesSay(int n) {
        verifyAll(n);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 16})
    @Tag("soak")
    void programsOfManyRanksDoWhatTheirSchedulesSay(int n) {
        verifyAll(n);
    }

    private static void verifyAll(int n) {
        Random random = new Random(n);
        for (CollectiveAlgorithm algorithm : Samples.algorithms(n, random)) {
            for (Collective collective : Collective.values()) {
                for (int root : Samples.roots(collective, n)) {
                    for (long count : new long[] {0, 1, n + 1, 100_003}) {
                        boolean inPlace = random.nextBoolean();
                        CollectiveRequest request = new CollectiveRequest(
                                collective, root, count, 1 << random.nextInt(4), inPlace, count > 1000 ? 1 << 14 : 8);
                        verify(algorithm.schedule(request), random);
                    }
                }
            }
        }
    }

    /** All presets of up to 16 devices and random subsets of them, with the trees that the planner makes for these. */
    @Test
    void subsetsOfPresetsAreLaidOut() {
        layOutSubsetsOfPresets(20);
    }

    @Test
    @Tag("soak")
    void manySubsetsOfPresetsAreLaidOut() {
        layOutSubsetsOfPresets(500);
    }

    private static void layOutSubsetsOfPresets(int subsets) {
        List<Machine> presets = Presets.all().stream()
                .filter(machine -> machine.size() > 1 && machine.size() <= 16)
                .toList();
        List<AlgorithmChoice> algorithms = AlgorithmChoice.scheduled();
        List<Collective> collectives = List.of(Collective.values());
        for (int i = 0; i < presets.size() + subsets; i++) {
            Random random = new Random(i);
            Machine preset = presets.get(i % presets.size());
            Machine machine = i < presets.size()
                    ? preset
                    : preset.subset(random.ints(0, preset.size())
                            .distinct()
                            .limit(2 + random.nextInt(preset.size() - 1))
                            .toArray());
            Config config = Config.builder()
                    .set(Planner.ALGORITHM, SizeRules.always(algorithms.get(random.nextInt(algorithms.size()))))
                    .build();
            Collective collective = collectives.get(random.nextInt(collectives.size()));
            CollectiveRequest request = new CollectiveRequest(
                    collective,
                    collective.hasRoot() ? random.nextInt(machine.size()) : -1,
                    1L << random.nextInt(20),
                    4,
                    random.nextBoolean(),
                    1 << 16);
            ProgramLayout layout = ProgramLayout.of(
                    Planner.of(machine, config)
                            .plan(request, AlgorithmHint.CONFIGURED)
                            .schedule(),
                    ProgramSizes.DEFAULT);
            layout.verify();
            assertThat(layout.grid().widest()).isLessThanOrEqualTo(ProgramSizes.DEFAULT.blocks());
        }
    }

    private static void verify(Schedule schedule, Random random) {
        DeviceProgram program = ProgramCompiler.compile(schedule, 1L << (9 + random.nextInt(12)));
        int widest = Grid.of(program, Integer.MAX_VALUE).widest();
        Grid grid = Grid.of(program, Math.max(mostMoves(program), 1 + random.nextInt(widest + 1)));
        int slots = 1 << random.nextInt(4);
        int[] slices =
                program.lanes().stream().mapToInt(_ -> 1 + random.nextInt(20)).toArray();
        ScheduleProof proof = ProgramVerifier.verify(program, grid, slices, slots);
        assertThat(proof.summations())
                .isEqualTo(ScheduleVerifier.verify(schedule).summations());
        if (!schedule.chunks().isEmpty() && schedule.collective().reduces() && schedule.ranks() > 1) {
            assertThat(program.takesMeans()).isTrue();
        }
    }

    private static int mostMoves(DeviceProgram program) {
        return program.lanes().stream()
                .mapToInt(lane -> IntStream.range(0, program.schedule().ranks())
                        .map(rank -> (int) lane.moves().stream()
                                .filter(move -> move.rank() == rank)
                                .count())
                        .max()
                        .orElse(1))
                .max()
                .orElse(1);
    }

    /** Chunks of a ring's rotation are one lane, with a move up, a move down, and no copy besides. */
    @Test
    void aRingHasTwoMovesALaneAndRank() {
        Schedule schedule = new RingAlgorithm(0, 1, 2, 3)
                .schedule(new CollectiveRequest(Collective.ALL_REDUCE, -1, 1 << 20, 4, true, 1 << 14));
        DeviceProgram program = ProgramCompiler.compile(schedule, Long.MAX_VALUE);
        assertThat(program.lanes()).hasSize(4);
        for (Lane lane : program.lanes()) {
            assertThat(lane.bytes()).isEqualTo(1 << 20);
            // Three sums on the way up, of which the last one begins the way down, one that begins, and three copies.
            assertThat(lane.moves()).hasSize(7);
            assertThat(lane.channels()).hasSize(6).allMatch(channel -> channel.kind() == Channel.Kind.SLOTS);
        }
    }

    /** A rank loads its input once, for its own copy and for the next rank: it takes no more blocks than others. */
    @Test
    void theMoveThatSendsAnInputAlsoCopiesIt() {
        RingAlgorithm ring = new RingAlgorithm(0, 1, 2, 3);
        for (Collective collective : List.of(Collective.BROADCAST, Collective.ALL_GATHER)) {
            int root = collective.hasRoot() ? 0 : -1;
            CollectiveRequest request = new CollectiveRequest(collective, root, 1 << 16, 4, false, Long.MAX_VALUE);
            for (Lane lane : ProgramCompiler.compile(ring.schedule(request), Long.MAX_VALUE)
                    .lanes()) {
                assertThat(lane.moves()).hasSize(4);
                assertThat(lane.moves().getFirst().outputs())
                        .satisfiesExactlyInAnyOrder(
                                own -> assertThat(own).isInstanceOf(Operand.Local.class),
                                next -> assertThat(next).isInstanceOf(Operand.Via.class));
            }
        }
    }

    /** The root of a star reads all inputs: one move sends each. */
    @Test
    void aStarSendsInputsByMovesOfTheirOwn() {
        Schedule schedule = new StarAlgorithm(4)
                .schedule(new CollectiveRequest(Collective.REDUCE, 1, 1000, 4, false, Long.MAX_VALUE));
        Lane lane = ProgramCompiler.compile(schedule, Long.MAX_VALUE).lanes().getFirst();
        assertThat(lane.moves()).hasSize(4);
        assertThat(lane.moves().getLast().inputs()).hasSize(4);
        assertThat(lane.moves().getLast().completes()).isTrue();
    }

    /** A program that is wrong by one edge, one operand or one place in the grid is found. */
    @Test
    void defectsAreFound() {
        int found = 0;
        for (int seed = 0; seed < 100; seed++) {
            Random random = new Random(seed);
            int n = 2 + random.nextInt(6);
            List<CollectiveAlgorithm> algorithms = Samples.algorithms(n, random);
            Schedule schedule =
                    algorithms.get(random.nextInt(algorithms.size())).schedule(Samples.request(n, 1000, random));
            DeviceProgram program = ProgramCompiler.compile(schedule, Long.MAX_VALUE);
            if (program.lanes().isEmpty()) {
                continue;
            }
            int index = random.nextInt(program.lanes().size());
            Lane lane = program.lanes().get(index);
            if (lane.channels().isEmpty()) {
                continue;
            }
            Lane wrong = withDefect(lane, random);
            List<Lane> lanes = new ArrayList<>(program.lanes());
            lanes.set(index, wrong);
            DeviceProgram defective = new DeviceProgram(schedule, lanes, program.takesMeans());
            Grid grid = Grid.of(program, Integer.MAX_VALUE);
            int[] slices = new int[lanes.size()];
            Arrays.fill(slices, 3);
            assertThatThrownBy(() -> ProgramVerifier.verify(defective, grid, slices, 2))
                    .as("seed " + seed)
                    .isInstanceOfAny(ScheduleException.class, IllegalArgumentException.class);
            found++;
        }
        assertThat(found).isGreaterThan(66);
    }

    /** Takes an input from a move, or lets a channel come from nowhere. */
    private static Lane withDefect(Lane lane, Random random) {
        List<Move> moves = new ArrayList<>(lane.moves());
        List<Channel> channels = new ArrayList<>(lane.channels());
        int c = random.nextInt(channels.size());
        Channel channel = channels.get(c);
        Move sender = moves.get(channel.from());
        switch (channel.kind()) {
            case SLOTS -> {
                // The sender stores to nothing, or to all channels but this one.
                List<Operand> outputs = new ArrayList<>(sender.outputs());
                outputs.remove(new Operand.Via(c));
                moves.set(
                        channel.from(),
                        new Move(
                                sender.rank(),
                                outputs.isEmpty() ? List.of() : sender.inputs(),
                                outputs,
                                sender.completes(),
                                sender.step()));
            }
            case ORDER -> channels.remove(c);
        }
        return new Lane(lane.bytes(), moves, channels);
    }

    @Test
    void aGridThatCouldWaitForEverIsFound() {
        Schedule schedule = new RingAlgorithm(0, 1, 2)
                .schedule(new CollectiveRequest(Collective.ALL_REDUCE, -1, 3000, 4, true, Long.MAX_VALUE));
        DeviceProgram program = ProgramCompiler.compile(schedule, Long.MAX_VALUE);
        int[] slices = {4, 4, 4};
        List<List<List<Grid.Loop>>> blocks = new ArrayList<>();
        for (List<List<Grid.Loop>> rank : Grid.of(program, Integer.MAX_VALUE).blocks()) {
            blocks.add(new ArrayList<>(rank));
        }
        ProgramVerifier.verify(program, new Grid(blocks), slices, 2);
        blocks.get(1).removeLast();
        assertThatThrownBy(() -> ProgramVerifier.verify(program, new Grid(blocks), slices, 2))
                .hasMessageContaining("is in 0 blocks");
    }
}
