package dev.banyan.cli.scaling;

import dev.banyan.cli.output.Numbers;
import dev.banyan.cli.plot.Picture;
import dev.banyan.study.cluster.Fabric;
import dev.banyan.study.cluster.HostCosts;
import dev.banyan.study.cluster.Minsky;
import java.util.ArrayList;
import java.util.List;

/**
 * The page on training with many machines, in Markdown, and its picture.
 *
 * @param setup the clusters
 * @param models what is trained
 * @param arguments of the command that writes it
 */
record ScalingPage(Setup setup, List<ModelReport> models, String arguments) {
    private static final long LARGE_SCALE_MIN_GPUS = 1024;

    Picture picture() {
        return new Picture(models.stream().map(ModelReport::chart).toList());
    }

    /** @param picture name of the picture's file */
    List<String> lines(String picture) {
        List<String> lines = new ArrayList<>();
        lines.addAll(introduction());
        lines.addAll(constants());
        lines.addAll(List.of("", "![time of a step by GPUs](" + picture + ")"));
        models.forEach(model -> lines.addAll(model.lines()));
        lines.addAll(atLargeScale());
        if (setup.machine().name().equals(Minsky.NAME)) {
            lines.addAll(new Published(models).lines());
        }
        return lines;
    }

    private List<String> introduction() {
        return """
            # Beyond one machine, by simulation

            This page is written by `banyan scaling %s`; don't edit it. It predicts training on machines like %s joined \
            by a network, for the three ways to put MPI's collectives into a dependency engine: funnel, concum and depcha \
            (A. R. Mamidala, "Efficient Embedding of MPI Collectives in MXNET DAGs for scaling Deep Learning", \
            arXiv:1802.06949, 2018). Nothing here was measured on several machines.

            ## The model

            - A key is reduced inside each machine to its leaders, summed up between the leaders of all machines, and \
            broadcast inside, in pieces of up to 4 MiB that follow one another. What happens inside is simulated as \
            `docs/simulator.md` has it, over packed trees or a star, whichever is faster (%d %s; several leaders: \
            stars). Leaders' data pass through the host's memory.
            - Between machines there are closed forms, of latency, bytes on the busiest link and sums: a ring, recursive \
            doubling, and halving-doubling (Rabenseifner). The least of the three is taken; as a variant Open MPI's \
            fixed rule up to 4.0 (recursive doubling below 10,000 bytes, else the ring). Flows share NICs, and leaves' \
            links to the spine, max-min fairly; the spine carries whatever leaves send. `ClosedFormsTest` runs the \
            same algorithms on the simulator's engine, with NICs, leaves and spine as links and hubs, for 16 to 256 \
            machines and 4 KiB to 4 MiB: they agree within 1 %%. More machines are extrapolated by the same formulas.
            - funnel: the calling thread waits for a gradient and its sum inside, calls MPI, then turns to the next \
            key. concum: groups of keys over several communicators with a helper thread each; helpers share the NICs; \
            the caller waits for a barrier after each group. Under both, the next step begins when all keys are back. \
            depcha: gradients are summed up inside as they come; calls of MPI follow one another in the order in which \
            keys were handed out; a layer of the next step waits for its own key alone.
            - Keys are handed out as MXNet's trainers do, from the input layer on, whose gradient comes last. So no \
            design hides a call of MPI behind the backward pass; depcha hides it behind the next forward pass. A \
            variant hands keys out in the order in which gradients come: then all three hide nearly everything.
            - Backward takes two thirds of the computing and forward one; both pass evenly through the keys. \
            Communication takes nothing from computing. Reading data, stragglers and optimizers are left out. An \
            epoch is 1,281,167 images (ILSVRC 2012).
            """.formatted(
                arguments,
                setup.machine().name(),
                setup.fabric().nics(),
                setup.fabric().nics() == 1 ? "leader" : "leaders").lines().toList();
    }

    private List<String> constants() {
        Fabric fabric = setup.fabric();
        HostCosts host = HostCosts.ASSUMED;
        List<String> lines =
                new ArrayList<>(List.of("", "## Constants", "", "| constant | value | source |", "|---|---:|---|"));
        if (setup.machine().name().equals(Minsky.NAME)) {
            add(
                    lines,
                    "machine",
                    "minsky",
                    "IBM S822LC: 2 POWER8, 4 P100, two NVLinks of 20 GB/s from each P100 to its"
                            + " neighbour and to its CPU; between the CPUs 32 GB/s, NCCL's figure for POWER9, assumed");
        } else {
            add(lines, "machine", setup.machine().name(), "preset; its links as `banyan topo` lists them");
        }
        add(lines, "profile", setup.profile().name(), "`docs/simulator.md`, each value with its source");
        add(
                lines,
                "NIC",
                Numbers.gbs(fabric.nicGbs()),
                "option; by default 100 Gb/s, InfiniBand EDR's nominal rate, assumed" + " for the published machines");
        add(lines, "NICs per machine", Integer.toString(fabric.nics()), "option; by default 1, assumed");
        add(
                lines,
                "latency of a message",
                Numbers.plain(fabric.latencyUs()) + " us",
                "option; by default 2 us, assumed");
        add(
                lines,
                "machines per leaf",
                Integer.toString(fabric.leafMachines()),
                "option; by default 18, half of a switch of" + " 36 ports, assumed");
        add(lines, "oversubscription", Numbers.plain(fabric.oversubscription()), "option; by default 1, assumed");
        add(lines, "MPI's sums", Numbers.gbs(host.reduceGbs()), "assumed: a thread of the host, bytes of result");
        add(
                lines,
                "leader to host's memory",
                Numbers.gbs(host.stagingGbs()),
                "assumed: a PCIe gen3 slot; NVLink to a" + " POWER8 is wider");
        add(
                lines,
                "handing over an operation",
                Numbers.plain(host.handoverUs()) + " us",
                "assumed, as for MXNet's engine in" + " `docs/figures/figures.md`");
        add(lines, "concum's communicators, group", host.communicators() + ", " + host.outstanding(), "assumed");
        return lines;
    }

    private static void add(List<String> lines, String name, String value, String source) {
        lines.add("| " + name + " | " + value + " | " + source + " |");
    }

    private List<String> atLargeScale() {
        List<String> lines = new ArrayList<>();
        for (ModelReport model : models) {
            for (ScalePoint point : model.main().points()) {
                if (point.gpus() >= LARGE_SCALE_MIN_GPUS) {
                    lines.add(atLargeScale(model, point));
                }
            }
        }
        for (ModelReport model : models) {
            lines.addAll(model.whereGroupsWin());
        }
        if (!lines.isEmpty()) {
            lines.addAll(0, List.of("", "## A thousand GPUs and more", ""));
        }
        return lines;
    }

    private static String atLargeScale(ModelReport model, ScalePoint point) {
        int batch = model.rate().batch();
        return Numbers.format(
                "- %s on %,d GPUs: %,d images per step, %.1f steps per epoch; all keys' allreduces take %.0f ms one"
                        + " after another, %.0f%% of the computing. Whether a model still learns from such steps is"
                        + " another matter.",
                model.workload().name(),
                point.gpus(),
                batch * point.gpus(),
                point.steps(batch),
                point.keysUs() / 1e3,
                100 * point.keysUs() / model.rate().stepUs());
    }
}
