package dev.banyan.cli.bench.workload;

import com.fasterxml.jackson.annotation.JsonInclude;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.schedule.type.DataType;
import dev.banyan.study.text.ChoiceText;
import dev.banyan.study.text.Numbers;
import dev.banyan.study.workload.Workload;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A workload by one algorithm at one depth, as JSON has it.
 *
 * @param keys number of keys
 * @param bytes bytes of all keys of one rank
 * @param inFlight calls in flight before a wait
 * @param algorithm its name without the generator of its trees
 * @param trees generator of its trees; null if it has none
 * @param timeMs median time of one round over all keys in ms
 * @param algbwGBs bytes over time in GB/s
 * @param wrong wrong elements of all ranks; null of a prediction
 * @param rounds timed rounds; null of a prediction
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record WorkloadRow(
        String workload,
        int keys,
        long bytes,
        int inFlight,
        String algorithm,
        @Nullable String trees,
        double timeMs,
        double algbwGBs,
        @Nullable Long wrong,
        @Nullable Integer rounds) {
    private static final int FEW_IN_FLIGHT = 50;

    public static WorkloadRow of(
            Workload workload,
            int inFlight,
            AlgorithmConfig algorithm,
            double timeMs,
            @Nullable Long wrong,
            @Nullable Integer rounds) {
        long bytes = bytes(workload);
        return new WorkloadRow(
                workload.name(),
                workload.keys(),
                bytes,
                inFlight,
                ChoiceText.algorithm(algorithm),
                algorithm.trees() == null ? null : algorithm.trees().label(),
                timeMs,
                bytes / timeMs / 1e6,
                wrong,
                rounds);
    }

    /** Bytes of all keys of one rank. */
    static long bytes(Workload workload) {
        return workload.totalElements() * DataType.F32.bytes();
    }

    /** Numbers of calls in flight that are worth a row. */
    public static List<Integer> depths(Workload workload) {
        return Stream.of(1, FEW_IN_FLIGHT, workload.keys())
                .map(depth -> Math.min(depth, workload.keys()))
                .distinct()
                .toList();
    }

    /** @param measured whether rows count wrong elements */
    public static List<String> header(Workload workload, int devices, boolean measured) {
        return List.of(
                "# workload " + workload.name() + ": " + Numbers.count(workload.keys(), "call") + ", " + bytes(workload)
                        + " bytes on each of " + Numbers.count(devices, "device") + ", in place",
                "# in flight: calls that are started before one waits for all of them"
                        + (workload.keys() > FEW_IN_FLIGHT ? " (1, " + FEW_IN_FLIGHT + " as an example, and all)" : ""),
                heading("algorithm", "in flight", "time", "algbw", measured ? "  #wrong" : ""),
                heading("", "(calls)", "(ms)", "(GB/s)", measured ? "        " : ""));
    }

    /** Returns the name of the algorithm, with the generator of its trees. */
    String name() {
        return ChoiceText.name(algorithm, trees);
    }

    private static String heading(String algorithm, String inFlight, String time, String algbw, String wrong) {
        return Numbers.format("# %27s  %9s  %10s  %7s%s", algorithm, inFlight, time, algbw, wrong);
    }

    /** @param remark words beside the name of the algorithm, or null for none */
    public String line(@Nullable String remark) {
        return Numbers.format("  %27s  %9d  %10.3f  %7.2f", ChoiceText.name(name(), remark), inFlight, timeMs, algbwGBs)
                + (wrong == null ? "" : Numbers.format("  %6d", wrong));
    }
}
