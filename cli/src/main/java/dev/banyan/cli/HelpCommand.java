package dev.banyan.cli;

import dev.banyan.cli.output.Subcommand;
import dev.banyan.study.text.Names;
import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** {@code banyan help}: what {@code --help} prints. */
@Command(
        name = "help",
        description = "Show how a command is used, as its option --help does.",
        footer = {"", "Examples:", "  banyan help", "  banyan help bench", "  banyan help trace stats"})
final class HelpCommand extends Subcommand {
    @Parameters(arity = "0..*", paramLabel = "COMMAND", description = "The command (default: banyan itself).")
    private List<String> words = List.of();

    /** Returns the sentence on a word that names no command. */
    static String unknown(String word, CommandLine command) {
        return "no command is called '" + word + "'"
                + Names.others(word, "commands", command.getSubcommands().keySet());
    }

    @Override
    public void run() {
        CommandLine command = spec().commandLine().getParent();
        for (String word : words) {
            CommandLine next = command.getSubcommands().get(word);
            if (next == null) {
                throw wrong(unknown(word, command));
            }
            command = next;
        }
        command.usage(out());
    }
}
