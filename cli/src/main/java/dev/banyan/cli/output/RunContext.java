package dev.banyan.cli.output;

import dev.banyan.schedule.plan.Platform;
import dev.banyan.schedule.plan.Tuning;
import dev.banyan.topology.Machine;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The conditions of an answer's figures, as JSON has them; null for a condition that has no effect.
 *
 * @param machine the machine that they are about
 * @param backend what carried calls out: sim, host or cuda
 * @param executor how: kernel, graph or loops
 * @param profile the simulator's constants
 * @param buffers those of predicted calls, as {@code --buffers} names them
 */
public record RunContext(
        @Nullable MachineFacts machine,
        @Nullable String backend,
        @Nullable String executor,
        @Nullable String profile,
        @Nullable String buffers) {
    /** The context of answers that are about no machine. */
    public static final RunContext NONE = new RunContext(null, null, null, null, null);

    /**
     * A machine as JSON has it.
     *
     * @param name its name
     * @param devices number of its devices that take part
     * @param links check sum of the links between them, as tuning files have it
     * @param assumed speeds that its description leaves open
     */
    public record MachineFacts(String name, int devices, String links, List<String> assumed) {
        static MachineFacts of(Machine machine) {
            return new MachineFacts(machine.name(), machine.size(), Tuning.links(machine), machine.assumed());
        }
    }

    /** Returns the context of figures that hold for a machine's links, whatever executes calls. */
    public static RunContext of(Machine machine) {
        return new RunContext(MachineFacts.of(machine), null, null, null, null);
    }

    /** The same, simulated with some constants. */
    public RunContext with(String constants) {
        return new RunContext(machine, backend, executor, constants, buffers);
    }

    /** The same of calls on some buffers. */
    public RunContext ofBuffers(String named) {
        return new RunContext(machine, backend, executor, profile, named);
    }

    /**
     * Returns the context of calls.
     *
     * @param profile the constants of the simulator; null where it is not asked
     */
    public static RunContext of(Machine machine, Platform platform, @Nullable String profile) {
        return new RunContext(
                MachineFacts.of(machine),
                platform.backend(),
                platform.execution().label(),
                profile,
                null);
    }
}
