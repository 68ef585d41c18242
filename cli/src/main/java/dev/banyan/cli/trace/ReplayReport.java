package dev.banyan.cli.trace;

import com.fasterxml.jackson.annotation.JsonProperty;
import dev.banyan.dlc.internal.replay.Replayed;
import dev.banyan.study.text.Numbers;
import dev.banyan.study.text.TextTable;
import java.io.PrintWriter;
import java.util.List;

/**
 * The report of {@code banyan trace replay}, in the order of its JSON. Times are in us.
 *
 * @param messages messages that were simulated
 * @param iterations iterations
 * @param serversApart whether servers had devices of their own
 * @param tracedUs time of all iterations when traced
 * @param predictedUs the same on the machine
 * @param keys times from push to value
 */
record ReplayReport(
        int messages,
        int iterations,
        boolean serversApart,
        double tracedUs,
        double predictedUs,
        @JsonProperty("rows") List<Replayed.KeyTime> keys) {
    static ReplayReport of(Replayed replayed) {
        return new ReplayReport(
                replayed.messages(),
                replayed.iterations(),
                replayed.serversApart(),
                replayed.tracedUs(),
                replayed.predictedUs(),
                replayed.keys());
    }

    /** @param where the machine, and the constants of its simulator */
    void print(PrintWriter out, String where) {
        out.println("# " + Numbers.count(messages, "message") + " of " + Numbers.count(iterations, "iteration") + " on "
                + where + ", servers on "
                + (serversApart ? "devices of their own" : "workers' devices"));
        out.println("# The time of a key is that from its push until its value is there. Computation and updates in"
                + " between take as long as in the trace.");
        TextTable table = new TextTable("key", "traced\n(us)", "predicted\n(us)", "ratio");
        for (Replayed.KeyTime key : keys) {
            table.row(cells(Integer.toString(key.key()), key.tracedUs(), key.predictedUs()));
        }
        table.row(cells("all iterations", tracedUs, predictedUs));
        table.lines().forEach(out::println);
    }

    private static List<String> cells(String name, double traced, double predicted) {
        return List.of(
                name,
                Numbers.format("%.1f", traced),
                Numbers.format("%.1f", predicted),
                traced > 0 ? Numbers.format("%.3f", predicted / traced) : "-");
    }
}
