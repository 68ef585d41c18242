package dev.banyan.study.machine;

import dev.banyan.topology.Device;
import dev.banyan.topology.Machine;
import dev.banyan.topology.internal.text.LinkNames;
import java.util.Optional;

/** GPUs that Banyan describes and predicts, but does not run on: AMD's, and NVIDIA's before Volta. */
public final class OtherGpus {
    private OtherGpus() {}

    /** Returns a sentence on what predictions for such GPUs mean, without a full stop; nothing for others. */
    public static Optional<String> remark(Machine machine) {
        return LinkNames.isOfAmd(machine) || machine.devices().stream().anyMatch(OtherGpus::isBeforeVolta)
                ? Optional.of(
                        "Banyan does not run on these GPUs; its times are what the simulator would expect if it did")
                : Optional.empty();
    }

    private static boolean isBeforeVolta(Device device) {
        return device.attributes().getOrDefault("sm", "").matches("[1-6][0-9]");
    }
}
