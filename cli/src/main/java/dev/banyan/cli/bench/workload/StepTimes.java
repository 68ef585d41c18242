package dev.banyan.cli.bench.workload;

import com.fasterxml.jackson.annotation.JsonInclude;
import dev.banyan.kvstore.internal.overlap.Overlap;
import dev.banyan.schedule.type.DataType;
import dev.banyan.study.text.Numbers;
import dev.banyan.study.text.TextTable;
import dev.banyan.study.workload.Workload;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Backward passes with one store, as JSON has them. Times are medians in ms; the ratio is that of the medians.
 *
 * @param keys number of keys
 * @param bytes bytes of all keys of one device
 * @param kvstore type of the store
 * @param processes number of processes; null if the store spans one
 * @param localDevices devices of each process; null if the store spans one
 * @param computeMs time over which gradients are released
 * @param communicationMs time of all push-pulls without computation
 * @param stepMs time of both together
 * @param exposedMs what the step takes beyond the computation
 * @param overlapRatio share of the communication that the computation hid
 * @param wrong wrong elements of all devices of all processes
 * @param rounds timed rounds
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
record StepTimes(
        String workload,
        int keys,
        long bytes,
        String kvstore,
        @Nullable Integer processes,
        @Nullable Integer localDevices,
        double computeMs,
        double communicationMs,
        double stepMs,
        double exposedMs,
        double overlapRatio,
        long wrong,
        int rounds) {
    static StepTimes of(
            Workload workload,
            String kvstore,
            @Nullable Integer processes,
            @Nullable Integer localDevices,
            Overlap median,
            long wrong,
            int rounds) {
        return new StepTimes(
                workload.name(),
                workload.keys(),
                workload.totalElements() * DataType.F32.bytes(),
                kvstore,
                processes,
                localDevices,
                median.computeUs() / 1e3,
                median.communicationUs() / 1e3,
                median.stepUs() / 1e3,
                median.exposedUs() / 1e3,
                median.ratio(),
                wrong,
                rounds);
    }

    /** A row for each store. */
    static List<String> table(List<StepTimes> stores) {
        TextTable table = new TextTable("kvstore", "communication\nms", "step\nms", "exposed\nms", "overlap", "#wrong");
        for (StepTimes store : stores) {
            table.row(
                    store.kvstore,
                    Numbers.format("%.3f", store.communicationMs),
                    Numbers.format("%.3f", store.stepMs),
                    Numbers.format("%.3f", store.exposedMs),
                    Numbers.format("%.1f%%", 100 * store.overlapRatio),
                    Long.toString(store.wrong));
        }
        return table.lines();
    }
}
