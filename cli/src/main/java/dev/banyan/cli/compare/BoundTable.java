package dev.banyan.cli.compare;

import dev.banyan.cli.output.Assumptions;
import dev.banyan.cli.output.TableFormat;
import dev.banyan.cli.output.TerminalText;
import dev.banyan.study.machine.Limit;
import dev.banyan.study.machine.MachineBounds;
import dev.banyan.study.machine.MachineBounds.Row;
import dev.banyan.study.text.Numbers;
import dev.banyan.study.text.TextTable;
import java.io.PrintWriter;
import java.util.List;

/** Prints bounds for people. */
record BoundTable(MachineBounds bounds) {
    void print(PrintWriter out, TableFormat format) {
        boolean several = bounds.rows().stream().anyMatch(row -> !row.beyond().isEmpty());
        List<String> columns = List.of("collective", "root", "algbw\n(GB/s)", "busbw\n(GB/s)", "counted");
        int shown = several ? columns.size() : columns.size() - 1;
        TextTable table = new TextTable(columns.subList(0, shown));
        for (Row row : bounds.rows()) {
            table.row(cells(row, row.algbwGBs(), row.busbwGBs(), row.counted()).subList(0, shown));
            for (Limit limit : row.beyond()) {
                table.row(cells(row, limit.algbwGBs(), limit.busbwGBs(), limit.counted())
                        .subList(0, shown));
            }
        }
        boolean markdown = format == TableFormat.markdown;
        String comment = markdown ? "" : "# ";
        out.println(comment + TerminalText.of(bounds.machine()) + ": rates that no schedule between its "
                + bounds.devices().size()
                + " devices can exceed"
                + (bounds.assumed().isEmpty() ? "" : ", if the assumptions are right")
                + condition(several, !bounds.rates().isEmpty())
                + (bounds.relays().isEmpty()
                        ? ""
                        : ", relays " + bounds.relays().toString().replace(" ", "")));
        Assumptions.line(bounds.assumed()).ifPresent(line -> out.println(comment + line));
        bounds.rates().forEach(rate -> out.println(comment + rate));
        out.println(comment.strip());
        (markdown ? table.markdown() : table.lines()).forEach(out::println);
        out.println(comment.strip());
        String item = markdown ? "- " : comment;
        for (Row row : bounds.rows()) {
            out.println(item + row.collective() + counted(row.counted()) + ": "
                    + TerminalText.of(row.certificate().sentence()));
            for (Limit limit : row.beyond()) {
                out.println(item + row.collective() + counted(limit.counted()) + ": "
                        + TerminalText.of(limit.certificate().sentence()));
            }
            if (!row.inTheSwitch().isEmpty()) {
                out.println(item + row.collective() + " by " + row.inTheSwitch());
            }
        }
    }

    private static List<String> cells(Row row, double algbw, double busbw, String counted) {
        String root = row.root() == null ? "-" : row.root().toString();
        return List.of(row.collective(), root, Numbers.plain(algbw), Numbers.plain(busbw), counted);
    }

    /** Returns what the limits depend on. */
    private static String condition(boolean several, boolean rated) {
        if (several) {
            return "; the last column says which links" + (rated ? ", rates" : "") + " or abilities of switches count";
        }
        return rated ? ", at the rates named below" : "";
    }

    private static String counted(String counted) {
        return counted.isEmpty() ? "" : " (" + counted + ")";
    }
}
