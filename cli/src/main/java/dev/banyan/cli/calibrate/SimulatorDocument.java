package dev.banyan.cli.calibrate;

import dev.banyan.cli.output.Csv;
import dev.banyan.cli.output.PageTemplate;
import dev.banyan.cli.output.TextTable;
import dev.banyan.simulate.Constant;
import dev.banyan.simulate.Profile;
import dev.banyan.simulate.Profiles;
import dev.banyan.study.measured.ComparedSweep;
import dev.banyan.study.measured.PublishedSweep;
import dev.banyan.study.measured.SweepComparison;
import dev.banyan.study.text.FigureText;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The page on the simulator: its model and its errors, and the tables of sweeps, rows and constants beside it. */
final class SimulatorDocument {
    private final List<ComparedSweep> comparisons;
    private final List<String> leftOut;

    SimulatorDocument(List<ComparedSweep> comparisons, List<String> leftOut) {
        this.comparisons = List.copyOf(comparisons);
        this.leftOut = List.copyOf(leftOut);
    }

    /**
     * The whole page; lines end in a line feed.
     *
     * @param sweeps name of the file with {@link #sweeps()}
     * @param rows name of the file with {@link #rows()}
     * @param constants name of the file with {@link #constants()}
     * @param programs name of the file with {@link #programs()}
     */
    String markdown(String sweeps, String rows, String constants, String programs) {
        return PageTemplate.fill(
                SimulatorDocument.class,
                "simulator.md",
                Map.of(
                        "summary",
                        String.join("\n", summary()),
                        "programs",
                        programs,
                        "sweeps",
                        sweeps,
                        "left-out",
                        leftOut.isEmpty() ? "" : "\nNot compared: " + String.join("; ", leftOut) + ".\n",
                        "rows",
                        rows,
                        "constants",
                        constants));
    }

    /** The source and the calibration of every sweep, as CSV. */
    String sweeps() {
        return lines(Stream.concat(
                Stream.of("sweep,collective,devices,machine,devices_per_process,transport,source,calibration,remark"),
                comparisons.stream().map(one -> sweep(one.setting()))));
    }

    /** The predicted times of device programs beside measured ones of NCCL, as CSV. */
    String programs() {
        ProgramPredictions predictions = new ProgramPredictions();
        comparisons.forEach(predictions::add);
        return lines(Stream.concat(
                Stream.of("sweep,size_bytes,nccl_us,algorithm,predicted_us,least_us,most_us,launches_us"),
                predictions.rows().stream().map(Csv::line)));
    }

    /** Every row of every sweep, as CSV. */
    String rows() {
        return lines(Stream.concat(
                Stream.of("sweep,size_bytes,measured_us,simulated_us,error,bound_by"),
                comparisons.stream()
                        .map(ValidationReport::of)
                        .flatMap(sweep -> sweep.rows().stream()
                                .map(row -> Csv.line(List.of(
                                        sweep.file(),
                                        Long.toString(row.bytes()),
                                        FigureText.us(row.measuredUs()),
                                        FigureText.us(row.simulatedUs()),
                                        FigureText.error(row.error()),
                                        row.boundBy()))))));
    }

    /** The constants of every profile with their ranges and sources, as CSV. */
    String constants() {
        return lines(Stream.concat(
                Stream.of("profile,constant,value,low,high,source"),
                Stream.concat(Profiles.all().stream(), comparisons.stream().map(ComparedSweep::profile))
                        .distinct()
                        .flatMap(
                                profile -> Arrays.stream(Constant.values()).map(constant -> line(profile, constant)))));
    }

    private static String line(Profile profile, Constant constant) {
        Profile.Value value = Objects.requireNonNull(profile.constants().get(constant));
        return Csv.line(List.of(
                profile.name(),
                constant.key(),
                FigureText.constant(value.value()),
                FigureText.constant(value.low()),
                FigureText.constant(value.high()),
                value.source()));
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

    private static String sweep(PublishedSweep sweep) {
        return Csv.line(List.of(
                sweep.file(),
                sweep.collective().label(),
                Integer.toString(sweep.machine().size()),
                sweep.machine().name(),
                Integer.toString(sweep.devicesPerProcess()),
                switch (sweep.transport()) {
                    case PEER -> "peer to peer";
                    case HOST -> "through the host's memory";
                },
                sweep.source(),
                sweep.seen().orElse("not seen"),
                sweep.remark()));
    }
}
