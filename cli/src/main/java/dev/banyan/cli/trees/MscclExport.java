package dev.banyan.cli.trees;

import dev.banyan.msccl.MscclOptions;
import dev.banyan.msccl.MscclRequests;
import dev.banyan.msccl.MscclWriter;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.ScheduleTraffic;
import dev.banyan.schedule.internal.algorithm.ForestAlgorithm;
import dev.banyan.schedule.internal.algorithm.PackedAlgorithm;
import dev.banyan.schedule.internal.algorithm.TreeAlgorithm;
import dev.banyan.schedule.type.Collective;
import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.study.machine.PlannedTrees;
import dev.banyan.study.text.Numbers;
import dev.banyan.trees.packing.LinkLoads;
import dev.banyan.trees.packing.PackedTree;
import java.util.List;
import org.apache.commons.numbers.fraction.BigFraction;
import org.jspecify.annotations.Nullable;

/**
 * The schedule of a collective over a plan's trees, as an MSCCL algorithm.
 *
 * @param xml the file's contents
 * @param warnings one sentence each
 */
record MscclExport(String xml, List<String> warnings) {
    /** Most equal chunks that are taken unless the user names a number. */
    static final int MOST_CHUNKS = MscclRequests.USUAL_LIMIT;

    private static final int LONGEST_NAME = 63;

    /**
     * Writes it.
     *
     * @param collective what the trees carry; of a packing, what it was packed for
     * @param root the collective's root, or -1
     * @param chunks number of equal chunks, or null for the least that the shares need
     * @throws IllegalArgumentException if the format has no room for it: the message says what to change
     */
    static MscclExport of(
            ChosenMachine chosen, PlannedTrees plan, Collective collective, int root, @Nullable Integer chunks) {
        TreeAlgorithm algorithm = plan.packed()
                ? new PackedAlgorithm(chosen.machine().size(), (carried, at) -> plan.packing())
                : new ForestAlgorithm(plan.algorithm(), plan.forest());
        List<PackedTree> trees = algorithm.trees(collective, root);
        int cut = chunks == null ? leastChunks(plan, collective, trees) : chunks;
        Schedule schedule = algorithm.schedule(MscclRequests.of(collective, root, cut, false));
        String xml = MscclWriter.write(
                schedule, MscclOptions.named(name(chosen.machine().name(), plan.algorithm(), schedule)));
        String planned = Numbers.gbs(plan.loads(collective, trees).rateGbs());
        String reached = Numbers.gbs(rate(plan, schedule));
        return new MscclExport(
                xml,
                planned.equals(reached)
                        ? List.of()
                        : List.of("shares are rounded to " + cut + (cut == 1 ? " chunk" : " equal chunks") + ": "
                                + reached + " instead of " + planned));
    }

    private static int leastChunks(PlannedTrees plan, Collective collective, List<PackedTree> trees) {
        if (!plan.packed()) {
            return MscclRequests.equalChunks(plan.forest(), MOST_CHUNKS);
        }
        boolean blocks = collective == Collective.ALL_GATHER || collective == Collective.REDUCE_SCATTER;
        int cuts = blocks ? trees.getFirst().up().size() : 1;
        return MscclRequests.equalChunks(
                trees.stream().map(tree -> tree.share().multiply(cuts)).toList(), MOST_CHUNKS);
    }

    private static BigFraction rate(PlannedTrees plan, Schedule schedule) {
        ScheduleTraffic traffic = ScheduleTraffic.of(schedule);
        LinkLoads loads = plan.unloaded();
        for (int from = 0; from < traffic.ranks(); from++) {
            for (int to = 0; to < traffic.ranks(); to++) {
                if (traffic.bytesBetween(from, to) > 0) {
                    loads.addTransfer(traffic.shareBetween(from, to), from, to);
                }
            }
        }
        return loads.rateGbs();
    }

    /** Returns the name for runtimes, of letters, digits and _ . + - alone. Nothing else in the file names the root. */
    private static String name(String machine, String algorithm, Schedule schedule) {
        String suffix = "-" + algorithm
                + (schedule.collective() == Collective.ALL_REDUCE
                        ? ""
                        : "-" + schedule.collective().label())
                + (schedule.collective().hasRoot() ? "-" + schedule.root() : "");
        String allowed = machine.replaceAll("[^A-Za-z0-9_.+-]", "_");
        return allowed.substring(0, Math.min(allowed.length(), LONGEST_NAME - suffix.length())) + suffix;
    }
}
