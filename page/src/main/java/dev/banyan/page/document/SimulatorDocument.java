package dev.banyan.page.document;

import dev.banyan.simulate.Constant;
import dev.banyan.simulate.Profile;
import dev.banyan.simulate.Profiles;
import dev.banyan.study.measured.ComparedSweep;
import dev.banyan.study.measured.ComparedSweeps;
import dev.banyan.study.measured.PublishedSweep;
import dev.banyan.study.measured.SweepComparison;
import dev.banyan.study.text.Csv;
import dev.banyan.study.text.FigureText;
import dev.banyan.study.text.PageTemplate;
import dev.banyan.study.text.TextTable;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The page on the simulator: its model and its errors, and the tables of sweeps, rows and constants beside it. */
public record SimulatorDocument(ComparedSweeps compared) {
    /**
     * The whole page; lines end in a line feed.
     *
     * @param sweeps name of the file with {@link #sweeps()}
     * @param rows name of the file with {@link #rows()}
     * @param constants name of the file with {@link #constants()}
     * @param programs name of the file with {@link #programs()}
     */
    public String markdown(String sweeps, String rows, String constants, String programs) {
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
                        compared.leftOut().isEmpty()
                                ? ""
                                : "\nNot compared: " + String.join("; ", compared.leftOut()) + ".\n",
                        "rows",
                        rows,
                        "constants",
                        constants));
    }

    /** The source and the calibration of every sweep, as CSV. */
    public String sweeps() {
        return csv(
                "sweep,collective,devices,machine,devices_per_process,transport,source,calibration,remark",
                compared.sweeps().stream().map(one -> sweep(one.setting())));
    }

    /** The predicted times of device programs beside measured ones of NCCL, as CSV. */
    public String programs() {
        return csv(
                "sweep,size_bytes,nccl_us,algorithm,predicted_us,least_us,most_us,launches_us",
                compared.sweeps().stream().flatMap(ProgramPredictions::rows));
    }

    /** Every row of every sweep, as CSV. */
    public String rows() {
        return csv(
                "sweep,size_bytes,measured_us,simulated_us,error,bound_by",
                compared.sweeps().stream()
                        .flatMap(one -> one.compared().rows().stream()
                                .map(row -> List.of(
                                        one.setting().file(),
                                        Long.toString(row.bytes()),
                                        FigureText.us(row.measuredUs()),
                                        FigureText.us(row.predicted().us()),
                                        FigureText.error(row.error()),
                                        ComparedSweep.boundBy(row)))));
    }

    /** The constants of every profile with their ranges and sources, as CSV. */
    public String constants() {
        return csv(
                "profile,constant,value,low,high,source",
                Stream.concat(
                                Profiles.all().stream(),
                                compared.sweeps().stream().map(ComparedSweep::profile))
                        .distinct()
                        .flatMap(profile ->
                                Arrays.stream(Constant.values()).map(constant -> constant(profile, constant))));
    }

    private static List<String> constant(Profile profile, Constant constant) {
        Profile.Value value = Objects.requireNonNull(profile.constants().get(constant));
        return List.of(
                profile.name(),
                constant.key(),
                FigureText.constant(value.value()),
                FigureText.constant(value.low()),
                FigureText.constant(value.high()),
                value.source());
    }

    private static String csv(String columns, Stream<List<String>> rows) {
        return Stream.concat(Stream.of(columns), rows.map(Csv::line))
                .map(line -> line + "\n")
                .collect(Collectors.joining());
    }

    private List<String> summary() {
        TextTable table = new TextTable("sweep", "devices", "profile", "rows", "median", "worst", "seen");
        for (ComparedSweep one : compared.sweeps()) {
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

    private static List<String> sweep(PublishedSweep sweep) {
        return List.of(
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
                sweep.remark());
    }
}
