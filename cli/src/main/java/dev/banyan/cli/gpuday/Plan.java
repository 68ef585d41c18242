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
    record Run(List<String> command, Reader reader) implements Plan {
        public Run {
            command = List.copyOf(command);
        }
    }

    /** Finds figures in the output of a command. */
    interface Reader {
        /**
         * Adds what the command reported to the part's output.
         *
         * @param out what the command printed
         * @param err what it printed to standard error
         */
        void read(String out, String err, PartOutput output);
    }

    /**
     * It is left out.
     *
     * @param reason in one sentence
     */
    record Skip(String reason) implements Plan {}
}
