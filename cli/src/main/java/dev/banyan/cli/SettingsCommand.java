package dev.banyan.cli;

import dev.banyan.cli.output.RunContext;
import dev.banyan.cli.output.Subcommand;
import dev.banyan.cli.output.TableFormat;
import dev.banyan.cli.output.TerminalText;
import dev.banyan.config.Config;
import dev.banyan.study.text.TextTable;
import java.io.PrintWriter;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code banyan settings}: all settings, their values here, and what they mean. */
@Command(
        name = "settings",
        description = "List all settings: their values, where these come from, and what is allowed.",
        footer = {
            "",
            "The first of these that has a setting wins: a system property, an environment",
            "variable, the properties file that BANYAN_CONFIG names (or banyan.properties",
            "in the working directory), the default.",
            "markdown is the table of the documentation, which has no values.",
            "",
            "Examples:",
            "  banyan settings",
            "  BANYAN_THREADS=2 banyan settings --all",
            "  banyan settings --format json"
        })
final class SettingsCommand extends Subcommand {
    @Option(names = "--all", description = "Add to the table each setting's default, what is allowed, and its meaning.")
    private boolean all;

    @Option(names = "--format", description = "table, json, csv or markdown (default: table).")
    private TableFormat format = TableFormat.table;

    /** A setting in JSON. */
    private record Row(String name, String value, String source, String defaultValue, String allowed, String meaning) {
        static Row of(Config.Entry entry) {
            var setting = entry.setting();
            return new Row(
                    setting.name(),
                    entry.value(),
                    entry.source(),
                    setting.defaultText(),
                    setting.allowed(),
                    setting.meaning());
        }

        List<String> details() {
            return List.of("  " + meaning, "  Allowed: " + allowed + ". Default: " + defaultValue + ".", "");
        }

        String markdown() {
            return "| `" + name + "` | " + meaning + " | " + allowed + " | " + defaultValue + " |";
        }
    }

    @Override
    public void run() {
        Config config = Config.load();
        List<Row> rows = config.entries().stream().map(Row::of).toList();
        PrintWriter out = out();
        remarkAside(null, config.warnings());
        switch (format) {
            case json, csv -> print(format, RunContext.NONE, rows, () -> {});
            case markdown -> {
                out.println("| name | meaning | allowed | default |");
                out.println("|---|---|---|---|");
                rows.forEach(row -> out.println(row.markdown()));
            }
            case table -> printTable(out, rows);
        }
    }

    private void printTable(PrintWriter out, List<Row> rows) {
        TextTable table = new TextTable("name", "value", "source");
        rows.forEach(row -> table.row(row.name(), TerminalText.of(row.value()), TerminalText.of(row.source())));
        List<String> lines = table.lines();
        out.println(lines.getFirst());
        for (int i = 0; i < rows.size(); i++) {
            out.println(lines.get(i + 1));
            if (all) {
                rows.get(i).details().forEach(out::println);
            }
        }
    }
}
