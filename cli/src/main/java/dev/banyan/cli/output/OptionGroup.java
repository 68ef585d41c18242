package dev.banyan.cli.output;

import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Options that several commands have, which are mixed into each. */
public abstract class OptionGroup {
    @Spec(Spec.Target.MIXEE)
    private CommandSpec spec = CommandSpec.create(); // replaced by picocli

    /** The command that has the options. */
    protected final CommandLine command() {
        return spec.commandLine();
    }

    /** Makes the exception that ends the command as wrong usage. */
    protected final ParameterException wrong(String message) {
        return new ParameterException(command(), message);
    }

    /** Rejects the usage unless the condition holds. */
    protected final void require(boolean condition, String message) {
        if (!condition) {
            throw wrong(message);
        }
    }
}
