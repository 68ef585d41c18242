package dev.banyan.topology;

import java.util.ArrayList;
import java.util.List;
import java.util.ServiceLoader;

/** Asks every {@link MachineProbe}, in turn, for the machine that the program runs on. Safe for use from any thread. */
public final class ThisMachine {
    private ThisMachine() {}

    /** The result of asking the probes. */
    public sealed interface Outcome {}

    /**
     * Devices were found.
     *
     * @param probe name of the probe that found them
     */
    public record Found(Machine machine, String probe) implements Outcome {
        /** A remark that names the source of the machine. */
        public String remark() {
            return "this machine, found by " + probe;
        }
    }

    /**
     * There are no devices that can be used.
     *
     * @param reason why and what to do, one sentence
     * @param failed whether a driver is there but fails
     */
    public record Missing(String reason, boolean failed) implements Outcome {
        /** A remark for a caller that continues without devices; it gives the reason only if a driver fails. */
        public String remark() {
            return failed ? "no GPU can be used here (" + reason + ")" : "no GPU found here";
        }
    }

    /** Returns the first machine with devices that a probe finds, or else the probes' reasons for finding none. */
    public static Outcome look() {
        List<String> failures = new ArrayList<>();
        List<String> absences = new ArrayList<>();
        for (MachineProbe probe : ServiceLoader.load(MachineProbe.class)) {
            switch (probe.probe()) {
                case MachineProbe.Found(Machine machine) -> {
                    return new Found(machine, probe.name());
                }
                case MachineProbe.Absent(String reason) -> absences.add(reason);
                case MachineProbe.Unusable(String reason) -> failures.add(reason);
            }
        }
        if (!failures.isEmpty()) {
            return new Missing(String.join("; ", failures), true);
        }
        return new Missing(absences.isEmpty() ? "this build has no probe of GPUs" : String.join("; ", absences), false);
    }
}
