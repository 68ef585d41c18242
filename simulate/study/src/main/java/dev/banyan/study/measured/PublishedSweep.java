package dev.banyan.study.measured;

import dev.banyan.schedule.type.Collective;
import dev.banyan.simulate.internal.nccl.Transport;
import dev.banyan.topology.Machine;
import java.util.Optional;

/**
 * On what a published sweep was measured. Immutable.
 *
 * @param file name of its file
 * @param machine the devices that took part, in the order of ranks
 * @param transport what joined devices without NVLink
 * @param collective what was measured
 * @param devicesPerProcess how many devices one process drove
 * @param seen what the built-in profiles took from it; empty where they never saw it
 * @param source where it was published
 * @param remark what is known to be off, and why; may be empty
 */
public record PublishedSweep(
        String file,
        Machine machine,
        Transport transport,
        Collective collective,
        int devicesPerProcess,
        Optional<String> seen,
        String source,
        String remark) {
    /** The source of sweeps that users measured themselves. */
    static final String OWN = "own measurement";

    public boolean isOwn() {
        return source.equals(OWN);
    }
}
