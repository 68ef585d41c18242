package dev.banyan.page;

import dev.banyan.config.Config;
import dev.banyan.page.model.Curve;
import dev.banyan.page.model.PageModel;
import dev.banyan.page.study.BoundWords;
import dev.banyan.page.study.ModelGradients;
import dev.banyan.page.study.PageStudy;
import dev.banyan.schedule.plan.Execution;
import dev.banyan.simulate.Profiles;
import dev.banyan.topology.Machine;
import dev.banyan.trees.bound.Bound;
import dev.banyan.trees.network.Network;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Pages for tests. */
final class Pages {
    static final Curve MEASURED = new Curve(
            "NCCL, sweep.txt",
            true,
            List.of(new Curve.Point(1 << 20, 60), new Curve.Point(3 << 20, 101), new Curve.Point(64 << 20, 1100)));

    private static final List<ModelGradients> MODELS = List.of(
            new ModelGradients("small", List.of(1000L, 20_000L, 300L)),
            new ModelGradients("large", List.of(1_000_000L, 4_000_000L)));

    private static final Map<String, PageModel> PRESETS = new ConcurrentHashMap<>();

    private Pages() {}

    private static final class Words implements BoundWords {
        @Override
        public String certificate(Bound bound, Network network) {
            return "certificate of " + bound.gbs() + " on " + network.name();
        }

        @Override
        public String counted(Network network) {
            return network.leavesOutLinks() ? "NVLink" : "";
        }

        @Override
        public List<String> beyond(Network network, Bound bound) {
            return network.leavesOutLinks() ? List.of("all links: 1,000 GB/s") : List.of();
        }
    }

    /** Returns the page of a preset, which is made once. */
    static PageModel model(String preset) {
        return PRESETS.computeIfAbsent(preset, name -> model(Machine.preset(name)));
    }

    static PageModel model(Machine machine) {
        return new PageStudy(machine, Config.builder().build(), Profiles.of(machine), Execution.PROGRAMS)
                .run("0.0.0", new Words(), List.of(MEASURED), MODELS, List.of("a note with </script> in it"), () -> {});
    }
}
