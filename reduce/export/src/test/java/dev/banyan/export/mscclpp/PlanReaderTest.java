package dev.banyan.export.mscclpp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.InputException;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.ScheduleException;
import dev.banyan.schedule.ScheduleTraffic;
import dev.banyan.schedule.internal.algorithm.TreeAlgorithm;
import dev.banyan.schedule.type.Collective;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Presets;
import dev.banyan.trees.packing.PackedTree;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.apache.commons.numbers.fraction.BigFraction;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Plans read back: the same loads; and of mutated plans each that is accepted runs right. */
class PlanReaderTest {
    private static final int ORDERS = 30;

    @Test
    void readingBackGivesTheSameLoads() {
        int[] plans = new int[1];
        for (String name : List.of("p3.16xlarge", "p3.8xlarge", "mi300x8")) {
            SamplePlans.forEach(
                    Machine.preset(name),
                    sample -> {
                        String text = PlanWriter.write(sample.plan());
                        MscclppPlan plan = PlanReader.read(sample.label(), text);
                        assertThat(plan).as(sample.label()).isEqualTo(sample.plan());
                        Schedule schedule = PlanTrace.schedule(sample.label(), plan);
                        assertThat(schedule.root()).isEqualTo(sample.root());
                        checkLoads(sample, ScheduleTraffic.of(schedule));
                        plans[0]++;
                    },
                    refusal -> {});
        }
        assertThat(plans[0]).isEqualTo(3 * 4 * 4 * 2);
    }

    /** The share of the data that goes between each two ranks is that of the trees. */
    private static void checkLoads(SamplePlans.Sample sample, ScheduleTraffic traffic) {
        int n = traffic.ranks();
        Collective collective = sample.trees().collective();
        boolean blocks = collective == Collective.ALL_GATHER || collective == Collective.REDUCE_SCATTER;
        BigFraction[] shares =
                IntStream.range(0, n * n).mapToObj(_ -> BigFraction.ZERO).toArray(BigFraction[]::new);
        for (ChunkedTrees.Part part : sample.trees().trees()) {
            BigFraction share =
                    BigFraction.of(part.length(), (long) sample.trees().chunks() * (blocks ? n : 1));
            PackedTree tree = part.tree();
            for (int rank = 0; rank < n; rank++) {
                int up = tree.up().parent(rank);
                int down = tree.down().parent(rank);
                if (collective.reduces() && up >= 0) {
                    shares[rank * n + up] = shares[rank * n + up].add(share);
                }
                if (collective != Collective.REDUCE_SCATTER && down >= 0) {
                    shares[down * n + rank] = shares[down * n + rank].add(share);
                }
            }
        }
        for (int pair = 0; pair < n * n; pair++) {
            assertThat(traffic.shareBetween(pair / n, pair % n))
                    .as("%s, %d", sample.label(), pair)
                    .isEqualTo(shares[pair]);
        }
    }

    @Test
    void acceptedMutationsRunRight() {
        mutate(100);
    }

    @Test
    @Tag("soak")
    void acceptedMutationsOfManyRunRight() {
        mutate(1_000);
    }

    private static void mutate(int count) {
        Machine machine = Machine.preset("p3.8xlarge");
        List<SamplePlans.Sample> samples = new ArrayList<>();
        SamplePlans.forEach(machine, samples::add, refusal -> {});
        Random random = new Random(7);
        int accepted = 0;
        for (int i = 0; i < count; i++) {
            SamplePlans.Sample sample = samples.get(random.nextInt(samples.size()));
            JsonTree plan = JsonTree.parse(PlanWriter.write(sample.plan()));
            PlanMutations.mutate(plan, random);
            String text = plan.json();
            Schedule schedule;
            try {
                schedule = PlanTrace.schedule("mutated", PlanReader.read("mutated", text));
            } catch (InputException | ScheduleException refused) {
                continue;
            }
            accepted++;
            long least = (long) MscclppPlan.ALIGNMENT
                    * sample.trees().chunks()
                    * (schedule.collective() == Collective.ALL_REDUCE
                                    || schedule.collective().hasRoot()
                            ? 1
                            : 4);
            for (int seed = 0; seed < ORDERS; seed++) {
                try {
                    new PlanInterpreter(plan, seed % 2 == 0 ? least : least * (96 << 10) / 16, schedule.root(), seed)
                            .run(3);
                } catch (PlanInterpreter.Defect defect) {
                    if (!String.valueOf(defect.getMessage()).contains("message size")) {
                        throw new AssertionError("mutation " + i + " of " + sample.label() + "\n" + text, defect);
                    }
                }
            }
        }
        assertThat(accepted).isBetween(count / 50, count * 2 / 3);
    }

    @Test
    void defectsAreNamed() {
        refused(ops -> ops.remove(0), "any order, one of them writing|waits for ever");
        refused(ops -> body(ops).removeIf(op -> isNamed(op, "nop")), "nop between");
        refused(
                ops -> body(ops).removeIf(op -> isNamed(op, "wait")),
                "more signals than waits|not yet|wrong|any order");
        refused(ops -> body(ops).removeIf(op -> isNamed(op, "signal")), "waits for ever");
        refused(
                ops -> {
                    while (ops.size() < 70) {
                        ops.add(ops.getFirst());
                    }
                },
                "the executor takes 64");
        assertThatThrownBy(() -> PlanReader.read("a.json", "{\"name\": \"a\"")).hasMessageContaining("a.json:1:");
        assertThatThrownBy(() -> PlanReader.read("a.json", "")).hasMessageContaining("is empty");
        assertThatThrownBy(() -> PlanReader.read("a.json", "{\"collective\": \"allreduce\"}"))
                .hasMessageContaining("before MSCCL++ 0.8.0");
    }

    private static boolean isNamed(Object operation, String name) {
        return new JsonTree(operation).text("name").equals(name);
    }

    private static List<Object> body(List<Object> operations) {
        return new JsonTree(operations.getLast()).get("ops").array();
    }

    /** Changes the operations of an inner rank's block of the way up. */
    private static void refused(Consumer<List<Object>> change, String reason) {
        Machine machine = Presets.find("p3.8xlarge").orElseThrow();
        TreeAlgorithm chain = SamplePlans.algorithms(machine).getLast();
        MscclppPlan right =
                TreeCompiler.compile("chain", SamplePlans.rounded(machine, chain, Collective.ALL_REDUCE, -1), true);
        JsonTree plan = JsonTree.parse(PlanWriter.write(right));
        JsonTree block = plan.list("gpus").get(1).list("threadblocks").stream()
                .filter(candidate -> candidate.list("ops").getLast().list("ops").stream()
                        .anyMatch(op -> op.text("name").equals("res")))
                .findFirst()
                .orElseThrow();
        change.accept(block.get("ops").array());
        assertThatThrownBy(() -> PlanTrace.schedule("a.json", PlanReader.read("a.json", plan.json())))
                .message()
                .containsPattern(reason);
    }
}
