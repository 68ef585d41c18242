package dev.banyan.export.mscclpp;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.topology.Machine;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The interpreter accepts every plan, in random orders of three launches each. */
class TreeCompilerTest {
    private static final int LAUNCHES = 3;

    @Test
    void everyPlanRuns() {
        run(1);
    }

    @Test
    @Tag("soak")
    @Timeout(3600)
    void everyPlanRunsInManyOrders() {
        run(100);
    }

    /** Runs each plan with the least message, of one unit, and with units and chunks that end apart. */
    private static void run(int ordersOfEachSize) {
        List<String> refusals = new ArrayList<>();
        int[] plans = new int[1];
        for (Machine machine : SamplePlans.machines()) {
            System.out.println(java.time.LocalTime.now() + " " + machine.name() + " " + plans[0]);
            System.out.flush();
            SamplePlans.forEach(
                    machine,
                    sample -> {
                        plans[0]++;
                        JsonTree plan = JsonTree.parse(PlanWriter.write(sample.plan()));
                        long least = sample.plan().minBytes();
                        long uneven = Math.min(
                                least * (96 << 10) / MscclppPlan.ALIGNMENT,
                                sample.plan().maxBytes());
                        LongStream.of(least, uneven / least * least).forEach(bytes -> {
                            for (int seed = 0; seed < ordersOfEachSize; seed++) {
                                try {
                                    new PlanInterpreter(plan, bytes, sample.root(), seed).run(LAUNCHES);
                                } catch (PlanInterpreter.Defect defect) {
                                    throw new AssertionError(sample.label() + ", " + bytes + " bytes", defect);
                                }
                            }
                        });
                    },
                    refusals::add);
        }
        System.out.println(plans[0] + " plans, refused " + refusals);
        assertThat(plans[0]).isGreaterThan(400);
    }
}
