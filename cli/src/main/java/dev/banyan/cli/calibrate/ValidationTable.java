package dev.banyan.cli.calibrate;

import dev.banyan.cli.output.TerminalText;
import dev.banyan.study.measured.ValidationReport;
import dev.banyan.study.measured.ValidationReport.RowReport;
import dev.banyan.study.measured.ValidationReport.SweepReport;
import dev.banyan.study.text.FigureText;
import dev.banyan.study.text.TextTable;
import java.io.PrintWriter;

/** Prints simulated sweeps beside measured ones for people. */
record ValidationTable(ValidationReport report) {
    void print(PrintWriter out) {
        for (SweepReport sweep : report.sweeps()) {
            out.println("# " + TerminalText.of(sweep.file()) + ": " + sweep.collective() + " on " + sweep.devices()
                    + " devices of " + TerminalText.of(sweep.machine()) + ", profile "
                    + TerminalText.of(sweep.profile()));
            sweep.remarks().forEach(remark -> out.println("# " + TerminalText.of(remark)));
            table(sweep).lines().forEach(out::println);
            out.println();
        }
        out.println("# Errors of rows from 64 KiB on, and whether calibration saw any of the sweep");
        TextTable summary = new TextTable("sweep", "median", "worst", "seen");
        for (SweepReport sweep : report.sweeps()) {
            summary.row(
                    TerminalText.of(sweep.file()),
                    FigureText.percent(sweep.medianError()),
                    FigureText.percent(sweep.worstError()),
                    sweep.seenByCalibration() ? "yes" : "no");
        }
        summary.lines().forEach(out::println);
        report.leftOut().forEach(one -> out.println("# left out: " + TerminalText.of(one)));
    }

    private static TextTable table(SweepReport sweep) {
        TextTable table = new TextTable("size\n(B)", "measured\n(us)", "simulated\n(us)", "error", "protocol");
        for (RowReport row : sweep.rows()) {
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
