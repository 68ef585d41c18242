package dev.banyan.cli.calibrate;

import dev.banyan.cli.output.PageTemplate;
import dev.banyan.cli.output.TextTable;
import dev.banyan.simulate.Constant;
import dev.banyan.simulate.Profile;
import dev.banyan.simulate.Profiles;
import dev.banyan.study.measured.ComparedSweep;
import dev.banyan.study.measured.PublishedSweep;
import dev.banyan.study.measured.SweepComparison;
import dev.banyan.study.text.FigureText;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The page on the simulator: model, constants with their sources, and every comparison. */
final class SimulatorDocument {
    private final List<ComparedSweep> comparisons;
    private final List<String> leftOut;

    SimulatorDocument(List<ComparedSweep> comparisons, List<String> leftOut) {
        this.comparisons = List.copyOf(comparisons);
        this.leftOut = List.copyOf(leftOut);
    }

    /** The whole page; lines end in a line feed. */
    String markdown() {
        ProgramPredictions predictions = new ProgramPredictions();
        comparisons.forEach(predictions::add);
        Stream<String> missing = leftOut.isEmpty()
                ? Stream.empty()
                : Stream.concat(
                        Stream.of("", "## Left out", ""), leftOut.stream().map(one -> "- " + one));
        Stream<Profile> profiles = Stream.concat(
                        Profiles.all().stream(), comparisons.stream().map(ComparedSweep::profile))
                .distinct();
        return PageTemplate.fill(
                SimulatorDocument.class,
                "simulator.md",
                Map.of(
                        "summary",
                        String.join("\n", summary()),
                        "programs",
                        String.join("\n", predictions.markdown()),
                        "sweeps",
                        lines(comparisons.stream().flatMap(one -> sweep(one).stream())),
                        "left-out",
                        lines(missing),
                        "constants",
                        lines(profiles.flatMap(profile -> constants(profile).stream()))));
    }

    private static String lines(Stream<String> lines) {
        return lines.map(line -> line + "\n").collect(Collectors.joining());
    }

    private List<String> summary() {
        TextTable table = new TextTable("sweep", "devices", "profile", "rows", "median", "worst", "seen");
        for (ComparedSweep one : comparisons) {
            SweepComparison large = one.large();
            table.row(
                    one.setting().file(),
                    Integer.toString(one.setting().machine().size()),
                    one.profile().name(),
                    Integer.toString(large.rows().size()),
                    FigureText.percent(large.medianError()),
                    FigureText.percent(large.worstError()),
                    one.seen());
        }
        return table.markdown();
    }

    private static List<String> sweep(ComparedSweep one) {
        PublishedSweep setting = one.setting();
        List<String> lines = new ArrayList<>(List.of(
                "",
                "### " + setting.file(),
                "",
                setting.collective().label() + " on " + setting.machine().size() + " devices of "
                        + setting.machine().name() + ", " + setting.devicesPerProcess() + " per process, "
                        + switch (setting.transport()) {
                            case PEER -> "peer to peer";
                            case HOST -> "through the host's memory";
                        }
                        + ". Source: " + setting.source() + ".",
                "Calibration: " + setting.seen().orElse("not seen") + "."));
        if (!setting.remark().isEmpty()) {
            lines.addAll(List.of("", setting.remark()));
        }
        lines.add("");
        lines.addAll(ValidationReport.of(one).table().markdown());
        return lines;
    }

    private static List<String> constants(Profile profile) {
        List<String> lines = new ArrayList<>(
                List.of("", "### " + profile.name(), "", "| constant | value | source |", "|---|---:|---|"));
        for (Constant constant : Constant.values()) {
            lines.add("| " + constant.key() + " | " + value(profile, constant) + " | "
                    + profile.source(constant).replace("|", "\\|") + " |");
        }
        return lines;
    }

    private static String value(Profile profile, Constant constant) {
        Profile.Value value = Objects.requireNonNull(profile.constants().get(constant));
        String middle = FigureText.constant(value.value());
        return value.isRange()
                ? middle + " (" + FigureText.constant(value.low()) + " to " + FigureText.constant(value.high()) + ")"
                : middle;
    }
}
