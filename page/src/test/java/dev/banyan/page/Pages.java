package dev.banyan.page;

import dev.banyan.config.Config;
import dev.banyan.page.model.Curve;
import dev.banyan.page.model.PageModel;
import dev.banyan.page.study.PageStudy;
import dev.banyan.schedule.plan.Execution;
import dev.banyan.schedule.plan.TreeGenerator;
import dev.banyan.simulate.Profiles;
import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.study.machine.Variants;
import dev.banyan.study.workload.Workload;
import dev.banyan.topology.Machine;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Pages for tests. */
final class Pages {
    static final Curve MEASURED = new Curve(
            "NCCL, sweep.txt",
            true,
            List.of(new Curve.Point(1 << 20, 60), new Curve.Point(3 << 20, 101), new Curve.Point(64 << 20, 1100)));

    /** A name that would end the page's script if it was not escaped. */
    static final String SMALL = "small</script>";

    private static final List<Workload> MODELS = List.of(
            new Workload(SMALL, List.of(1000L, 20_000L, 300L)), new Workload("large", List.of(1_000_000L, 4_000_000L)));

    private static final Map<String, PageModel> PRESETS = new ConcurrentHashMap<>();

    private Pages() {}

    /** Returns the page of a preset, which is made once. */
    static PageModel model(String preset) {
        return PRESETS.computeIfAbsent(preset, name -> model(Machine.preset(name)));
    }

    static PageModel model(Machine machine) {
        return new PageStudy(
                        ChosenMachine.whole(machine, null),
                        new Variants(TreeGenerator.KERNIGHAN_LIN, Integer.MAX_VALUE),
                        Config.defaults(),
                        Profiles.of(machine),
                        Execution.PROGRAMS)
                .run("0.0.0", "--machine " + machine.name(), List.of(MEASURED), MODELS, () -> {});
    }
}
