package dev.banyan.cli.gpuday;

import java.util.List;

/** What a part does on this machine. */
sealed interface Plan {
    /**
     * It runs a command.
     *
     * @param command with its arguments
     * @param reader what the command's output means
     */
    record Run(List<String> command, OutputReader reader) implements Plan {
        public Run {
            command = List.copyOf(command);
        }
    }

    /**
     * It is left out.
     *
     * @param reason in one sentence
     */
    record Skip(String reason) implements Plan {}
}
