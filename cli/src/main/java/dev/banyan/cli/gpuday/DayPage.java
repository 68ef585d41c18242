package dev.banyan.cli.gpuday;

import dev.banyan.cli.output.Numbers;
import dev.banyan.cli.output.TerminalText;
import dev.banyan.gpuday.Figure;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** The page of text of a day. */
final class DayPage {
    private DayPage() {}

    static List<String> lines(DaySummary summary, List<PartResult> parts) {
        List<String> lines = new ArrayList<>();
        lines.add("banyan gpu-day, " + summary.machine().date());
        if (summary.quick()) {
            lines.add("Arrays and repetitions were as few as possible (--quick): the figures mean nothing.");
        }
        lines.add("");
        lines.add("machine  " + summary.machine().host() + ", "
                + summary.machine().processor() + ", "
                + summary.machine().processors() + " processors, "
                + summary.machine().system());
        lines.add("java     " + summary.machine().java() + "; banyan "
                + summary.machine().banyan());
        lines.add("driver   " + summary.driver() + "; kernel module: "
                + summary.machine().kernelModule());
        for (int gpu = 0; gpu < summary.cards().size(); gpu++) {
            lines.add("GPU" + gpu + "     " + summary.cards().get(gpu));
        }
        lines.add("");
        lines.add(count(parts, PartResult.Status.DONE) + " parts done, " + count(parts, PartResult.Status.FAILED)
                + " failed, " + count(parts, PartResult.Status.SKIPPED) + " skipped, in "
                + seconds(summary.seconds()) + " of " + seconds(summary.budgetSeconds()));
        lines.add("");
        parts.forEach(part -> lines.add(Numbers.format(
                "%-15s  %-7s  %8s  %s", part.part(), part.status().label(), seconds(part.seconds()), part.what())));
        parts.forEach(part -> part(part, lines));
        return lines.stream().map(TerminalText::of).toList();
    }

    private static long count(List<PartResult> parts, PartResult.Status status) {
        return parts.stream().filter(part -> part.status() == status).count();
    }

    private static void part(PartResult part, List<String> lines) {
        lines.add("");
        lines.add(part.part() + ": " + part.status().label() + (part.reason() == null ? "" : ": " + part.reason()));
        if (!part.command().isEmpty()) {
            lines.add("  " + seconds(part.seconds()) + " of " + seconds(part.deadlineSeconds()));
        }
        part.facts().forEach(fact -> lines.add("  " + fact.name() + of(fact.of()) + ": " + fact.value()));
        part.figures().forEach(figure -> lines.add("  " + figure(figure)));
        part.notes().forEach(note -> lines.add("  note: " + note));
        if (!part.files().isEmpty()) {
            lines.add("  see " + String.join(", ", part.files()));
        }
    }

    private static String of(Map<String, String> of) {
        return of.isEmpty()
                ? ""
                : of.entrySet().stream()
                        .map(entry -> entry.getKey() + " " + entry.getValue())
                        .collect(Collectors.joining(", ", " (", ")"));
    }

    private static String figure(Figure figure) {
        String spread = figure.samples() == 1
                ? ""
                : "  (" + plain(figure.least()) + " to " + plain(figure.greatest()) + ", " + figure.samples()
                        + " samples)";
        return figure.name() + of(figure.of()) + ": " + plain(figure.median()) + " " + figure.unit() + spread;
    }

    private static String plain(double value) {
        return Numbers.plain(value);
    }

    private static String seconds(double seconds) {
        return Numbers.format("%.1f s", seconds);
    }
}
