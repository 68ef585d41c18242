package dev.banyan.cli.calibrate;

import dev.banyan.simulate.Profile;
import dev.banyan.simulate.internal.nccl.NcclRings;
import dev.banyan.study.measured.NcclErrors;
import dev.banyan.study.measured.PublishedSweep;
import dev.banyan.study.measured.SweepComparison;

/**
 * One sweep and what was predicted for it.
 *
 * @param setting on what it was measured
 * @param profile what it was predicted with
 * @param compared row by row
 */
record Comparison(PublishedSweep setting, Profile profile, SweepComparison compared) {
    private static final long LARGE = NcclErrors.LARGE;

    static Comparison of(SweepOptions.Measured measured) {
        PublishedSweep setting = measured.setting();
        NcclRings rings = NcclRings.of(setting.machine(), measured.profile(), setting.transport());
        return new Comparison(
                setting,
                measured.profile(),
                SweepComparison.of(measured.sweep(), rings, setting.collective(), setting.devicesPerProcess()));
    }

    /** The rows of 64 KiB and more; all rows where there is none. */
    SweepComparison large() {
        return compared.rows().stream().anyMatch(row -> row.bytes() >= LARGE)
                ? compared.between(LARGE, Long.MAX_VALUE)
                : compared;
    }

    String seen() {
        return setting.seen().isPresent() ? "yes" : "no";
    }

    /** Returns the parts of a row's predicted time. */
    static String boundBy(SweepComparison.Row row) {
        return row.predicted().hostBound()
                ? "launch"
                : row.predicted().protocol().label();
    }
}
