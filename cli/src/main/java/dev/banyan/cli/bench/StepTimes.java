package dev.banyan.cli.bench;

import dev.banyan.cli.output.Numbers;
import dev.banyan.cli.output.TextTable;
import java.util.List;

/** What a backward pass with a store takes: medians in ms. */
interface StepTimes {
    /** Type of the store. */
    String kvstore();

    /** Time of all push-pulls without computation. */
    double communicationMs();

    /** Time of both together. */
    double stepMs();

    /** What the step takes beyond the computation. */
    double exposedMs();

    /** Share of the communication that the computation hid. */
    double overlapRatio();

    /** Wrong elements. */
    long wrong();

    /** A row for each store. */
    static List<String> table(List<? extends StepTimes> stores) {
        TextTable table = new TextTable("kvstore", "communication\nms", "step\nms", "exposed\nms", "overlap", "#wrong");
        for (StepTimes store : stores) {
            table.row(
                    store.kvstore(),
                    Numbers.format("%.3f", store.communicationMs()),
                    Numbers.format("%.3f", store.stepMs()),
                    Numbers.format("%.3f", store.exposedMs()),
                    Numbers.format("%.1f%%", 100 * store.overlapRatio()),
                    Long.toString(store.wrong()));
        }
        return table.lines();
    }
}
