package dev.banyan.study.measured;

import dev.banyan.simulate.Profile;
import dev.banyan.simulate.internal.nccl.NcclRings;

/**
 * One sweep and what was predicted for it.
 *
 * @param setting on what it was measured
 * @param profile what it was predicted with
 * @param compared row by row
 */
public record ComparedSweep(PublishedSweep setting, Profile profile, SweepComparison compared) {
    private static final long LARGE = NcclErrors.LARGE;

    public static ComparedSweep of(PublishedSweep setting, MeasuredSweep sweep, Profile profile) {
        NcclRings rings = NcclRings.of(setting.machine(), profile, setting.transport());
        return new ComparedSweep(
                setting, profile, SweepComparison.of(sweep, rings, setting.collective(), setting.devicesPerProcess()));
    }

    /** The rows of 64 KiB and more; all rows where there is none. */
    public SweepComparison large() {
        return compared.rows().stream().anyMatch(row -> row.bytes() >= LARGE)
                ? compared.between(LARGE, Long.MAX_VALUE)
                : compared;
    }

    public String seen() {
        return setting.seen().isPresent() ? "yes" : "no";
    }

    /** Returns the parts of a row's predicted time. */
    public static String boundBy(SweepComparison.Row row) {
        return row.predicted().hostBound()
                ? "launch"
                : row.predicted().protocol().label();
    }
}
