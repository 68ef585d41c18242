package dev.banyan.cli.input;

import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.Machine;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The machine that a command works on.
 *
 * @param machine the machine, reduced to the wanted devices: their indices are the ranks
 * @param remark where it comes from, where the user did not say; else null
 */
public record ChosenMachine(Machine machine, @Nullable String remark) {
    ChosenMachine with(Machine other) {
        return new ChosenMachine(other, remark);
    }

    /** How well its devices are connected. */
    public LinkMatrix links() {
        return LinkMatrix.of(machine);
    }

    /** What was odd in the description, and what was assumed beyond it. */
    public List<String> warnings() {
        List<String> warnings = new ArrayList<>(machine.warnings());
        warnings.addAll(links().warnings());
        return warnings;
    }
}
