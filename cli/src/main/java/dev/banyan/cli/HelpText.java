package dev.banyan.cli;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import picocli.CommandLine;
import picocli.CommandLine.Help;
import picocli.CommandLine.Model.UsageMessageSpec;

/** The width and the sections of help. */
final class HelpText {
    private static final int LEAST_WIDTH = 55;
    private static final int MOST_WIDTH = 1000;

    private HelpText() {}

    /**
     * Sets up a command and its subcommands.
     *
     * @param columns the variable COLUMNS, which has a terminal's width; empty if it is not set
     * @param groups the commands by the headings of their groups, in order
     */
    static void set(CommandLine command, String columns, Map<String, List<String>> groups) {
        if (columns.matches("[0-9]{1,9}")) {
            command.setUsageHelpAutoWidth(false);
            command.setUsageHelpWidth(Math.clamp(Integer.parseInt(columns), LEAST_WIDTH, MOST_WIDTH));
        }
        Map<String, CommandLine.IHelpSectionRenderer> sections = command.getHelpSectionMap();
        // Examples are to be pasted, so that no line of them is broken.
        sections.put(
                UsageMessageSpec.SECTION_KEY_FOOTER,
                help -> Arrays.stream(help.commandSpec().usageMessage().footer())
                        .map(line -> line + "\n")
                        .collect(Collectors.joining()));
        sections.put(
                UsageMessageSpec.SECTION_KEY_COMMAND_LIST,
                help -> help.commandSpec().parent() == null ? grouped(help, groups) : help.commandList());
        sections.put(
                UsageMessageSpec.SECTION_KEY_COMMAND_LIST_HEADING,
                help -> help.commandSpec().parent() == null ? "" : help.commandListHeading());
        command.setHelpSectionMap(sections);
    }

    private static String grouped(Help help, Map<String, List<String>> groups) {
        StringBuilder text = new StringBuilder();
        groups.forEach((heading, names) -> {
            Map<String, Help> commands = new LinkedHashMap<>(help.subcommands());
            commands.keySet().retainAll(names);
            text.append('\n').append(heading).append(":\n").append(help.commandList(commands));
        });
        return text.toString();
    }
}
