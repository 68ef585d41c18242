package dev.banyan.cuda;

import dev.banyan.schedule.plan.Execution;
import java.util.Arrays;
import java.util.Locale;

/** The executors of schedules on GPUs. */
enum ExecutorChoice {
    /** One kernel on each GPU, which interprets a device program. */
    KERNEL,
    /** A graph of copies and kernels over all GPUs. */
    GRAPH,
    /** Kernels where they can, else graphs. */
    AUTO;

    /** Reads what {@link #toString} returns. */
    static ExecutorChoice parse(String text) {
        return Arrays.stream(values())
                .filter(choice -> choice.toString().equals(text))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("no executor is called '" + text + "'"));
    }

    /** Returns how schedules are executed. */
    Execution execution() {
        return this == GRAPH ? Execution.CHUNKS : Execution.PROGRAMS;
    }

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
