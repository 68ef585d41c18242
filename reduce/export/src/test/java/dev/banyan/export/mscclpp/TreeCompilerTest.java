package dev.banyan.export.mscclpp;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.topology.Machine;
import java.util.List;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The interpreter accepts every plan, in random orders of three launches each. */
class TreeCompilerTest {
    private static final int LAUNCHES = 3;

    @Test
    void plansRun() {
        List<Machine> machines = Stream.of("p3.16xlarge", "p3.8xlarge", "pcie-8", "mi300x8", "gb200-tray")
                .map(Machine::preset)
                .toList();
        assertThat(run(machines, 1)).isEqualTo(5 * 4 * 4 * 2);
    }

    @Test
    @Tag("soak")
    void allPlansRunInManyOrders() {
        assertThat(run(SamplePlans.machines(), 25)).isGreaterThan(500);
    }

    /**
     * Returns a multiple of the least message with which a chunk has one and a half units, or as much as a message may
     * have. The interpreter is slow where chunks and units have small common divisors.
     */
    private static long uneven(long most) {
        long whole = (96 << 10) / MscclppPlan.ALIGNMENT;
        long coarse = (8 << 10) / MscclppPlan.ALIGNMENT;
        return most >= whole || most < coarse ? Math.min(whole, most) : most / coarse * coarse;
    }

    /** Runs each plan with the least message, of one unit, and with units and chunks that end apart. */
    private static int run(List<Machine> machines, int ordersOfEachSize) {
        int[] plans = new int[1];
        for (Machine machine : machines) {
            SamplePlans.forEach(
                    machine,
                    sample -> {
                        plans[0]++;
                        JsonTree plan = JsonTree.parse(PlanWriter.write(sample.plan()));
                        long least = sample.plan().minBytes();
                        LongStream.of(least, least * uneven(sample.plan().maxBytes() / least))
                                .forEach(bytes -> {
                                    for (int seed = 0; seed < ordersOfEachSize; seed++) {
                                        try {
                                            new PlanInterpreter(plan, bytes, sample.root(), seed).run(LAUNCHES);
                                        } catch (PlanInterpreter.Defect defect) {
                                            throw new AssertionError(sample.label() + ", " + bytes + " bytes", defect);
                                        }
                                    }
                                });
                    },
                    // Around DGX-2's switches trees are stars, whose roots have more channels than a block may have.
                    refusal -> assertThat(refusal).startsWith("dgx-2 packing"));
        }
        return plans[0];
    }
}
