package dev.banyan.cli.calibrate;

import com.fasterxml.jackson.annotation.JsonProperty;
import dev.banyan.cli.output.TerminalText;
import dev.banyan.cli.output.TextTable;
import dev.banyan.study.measured.ComparedSweep;
import dev.banyan.study.measured.ComparedSweeps;
import dev.banyan.study.text.FigureText;
import java.io.PrintWriter;
import java.util.List;

/**
 * The report of {@code banyan validate}, in the order of its JSON.
 *
 * @param sweeps one per file
 * @param leftOut files that are no sweeps that can be compared, each with the reason
 */
record ValidationReport(@JsonProperty("rows") List<SweepReport> sweeps, List<String> leftOut) {
    /**
     * A sweep.
     *
     * @param file its name
     * @param machine what it was predicted for
     * @param profile what it was predicted with
     * @param collective as nccl-tests name it
     * @param devices that took part
     * @param devicesPerProcess that one process launched on
     * @param seenByCalibration whether any constant was taken from it
     * @param remarks what is known of its run and what is assumed; wrong results first
     * @param medianError of the rows of 64 KiB and more, as a fraction
     * @param worstError the same
     * @param rows all of them
     */
    record SweepReport(
            String file,
            String machine,
            String profile,
            String collective,
            int devices,
            int devicesPerProcess,
            boolean seenByCalibration,
            List<String> remarks,
            double medianError,
            double worstError,
            List<RowReport> rows) {
        TextTable table() {
            TextTable table = new TextTable("size\n(B)", "measured\n(us)", "simulated\n(us)", "error", "bound by");
            for (RowReport row : rows) {
                table.row(
                        Long.toString(row.bytes()),
                        FigureText.us(row.measuredUs()),
                        FigureText.us(row.simulatedUs()),
                        FigureText.error(row.error()),
                        row.boundBy());
            }
            return table;
        }
    }

    /**
     * A size.
     *
     * @param bytes as nccl-tests print it
     * @param measuredUs time of a call in us
     * @param simulatedUs the same as simulated
     * @param error of the simulated one, as a fraction of the measured
     * @param boundBy protocol, or launch
     */
    record RowReport(long bytes, double measuredUs, double simulatedUs, double error, String boundBy) {}

    static ValidationReport of(ComparedSweeps compared) {
        return new ValidationReport(
                compared.sweeps().stream().map(ValidationReport::of).toList(), compared.leftOut());
    }

    private static SweepReport of(ComparedSweep one) {
        return new SweepReport(
                one.setting().file(),
                one.setting().machine().name(),
                one.profile().name(),
                one.setting().collective().label(),
                one.setting().machine().size(),
                one.setting().devicesPerProcess(),
                one.setting().seen().isPresent(),
                one.remarks(),
                one.large().medianError(),
                one.large().worstError(),
                one.compared().rows().stream()
                        .map(row -> new RowReport(
                                row.bytes(),
                                row.measuredUs(),
                                row.predicted().us(),
                                row.error(),
                                ComparedSweep.boundBy(row)))
                        .toList());
    }

    void print(PrintWriter out) {
        for (SweepReport sweep : sweeps) {
            out.println("# " + TerminalText.of(sweep.file()) + ": " + sweep.collective() + " on " + sweep.devices()
                    + " devices of " + TerminalText.of(sweep.machine()) + ", profile "
                    + TerminalText.of(sweep.profile()));
            sweep.remarks().forEach(remark -> out.println("# " + TerminalText.of(remark)));
            sweep.table().lines().forEach(out::println);
            out.println();
        }
        out.println("# Errors of rows from 64 KiB on, and whether calibration saw any of the sweep");
        TextTable summary = new TextTable("sweep", "median", "worst", "seen");
        for (SweepReport sweep : sweeps) {
            summary.row(
                    TerminalText.of(sweep.file()),
                    FigureText.percent(sweep.medianError()),
                    FigureText.percent(sweep.worstError()),
                    sweep.seenByCalibration() ? "yes" : "no");
        }
        summary.lines().forEach(out::println);
        leftOut.forEach(one -> out.println("# left out: " + TerminalText.of(one)));
    }
}
