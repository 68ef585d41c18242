package dev.banyan.page;

import dev.banyan.config.Config;
import dev.banyan.page.model.Curve;
import dev.banyan.page.model.PageModel;
import dev.banyan.page.study.Gradients;
import dev.banyan.page.study.PageStudy;
import dev.banyan.schedule.plan.Execution;
import dev.banyan.simulate.Profiles;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Presets;
import java.util.List;

/** Pages for tests. */
final class Pages {
    static final Curve MEASURED = new Curve(
            "NCCL, sweep.txt",
            true,
            List.of(new Curve.Point(1 << 20, 60), new Curve.Point(3 << 20, 101), new Curve.Point(64 << 20, 1100)));

    private static final List<Gradients> MODELS = List.of(
            new Gradients("small", List.of(1000L, 20_000L, 300L)),
            new Gradients("large", List.of(1_000_000L, 4_000_000L)));

    private Pages() {}

    static PageModel model(String preset) {
        return model(Presets.find(preset).orElseThrow());
    }

    static PageModel model(Machine machine) {
        return new PageStudy(machine, Config.builder().build(), Profiles.of(machine), Execution.PROGRAMS)
                .run(
                        "0.0.0",
                        (bound, network) -> "certificate of " + bound.gbs() + " on " + network.name(),
                        List.of(MEASURED),
                        MODELS,
                        List.of("a note with </script> in it"),
                        () -> {});
    }
}
