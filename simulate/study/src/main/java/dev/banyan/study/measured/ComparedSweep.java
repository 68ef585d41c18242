package dev.banyan.study.measured;

import dev.banyan.simulate.Profile;
import dev.banyan.simulate.Profiles;
import dev.banyan.simulate.internal.nccl.NcclRings;
import dev.banyan.study.measured.sweep.MeasuredSweep;
import dev.banyan.study.measured.sweep.SweepRun;
import dev.banyan.topology.internal.text.GpuProduct;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * One sweep and what was predicted for it.
 *
 * @param setting on what it was measured
 * @param profile what it was predicted with
 * @param compared row by row
 * @param run what the sweep states about its run
 * @param log what NCCL printed in the same run, if that is known
 */
public record ComparedSweep(
        PublishedSweep setting, Profile profile, SweepComparison compared, SweepRun run, Optional<NcclLog> log) {
    private static final long LARGE = NcclErrors.LARGE;

    public static ComparedSweep of(
            PublishedSweep setting, MeasuredSweep sweep, Profile profile, Optional<NcclLog> log) {
        NcclRings rings = NcclRings.of(setting.machine(), profile, setting.transport());
        return new ComparedSweep(
                setting,
                profile,
                SweepComparison.of(sweep, rings, setting.collective(), setting.devicesPerProcess()),
                sweep.run(),
                log);
    }

    /** Returns whether the constants of the model are of this class of machines, not of the nearest one alone. */
    public boolean isModelOfClass() {
        return !Profiles.of(setting.machine()).equals(profile)
                || (Profiles.isOfClass(setting.machine())
                        && run.models().stream()
                                .flatMap(model -> GpuProduct.of(model).stream())
                                .allMatch(product -> Profiles.isOfClass(setting.machine(), product.sm())));
    }

    /** The rows of 64 KiB and more; all rows where there is none. */
    public SweepComparison large() {
        return compared.rows().stream().anyMatch(row -> row.bytes() >= LARGE)
                ? compared.between(LARGE, Long.MAX_VALUE)
                : compared;
    }

    /** Returns what is known of its run and what is assumed, one sentence each; wrong results first. */
    public List<String> remarks() {
        List<String> remarks = new ArrayList<>();
        run.wrong().sentence().ifPresent(remarks::add);
        run.stopped().ifPresent(line -> remarks.add("nccl-tests stopped before the end: '" + line + "'"));
        if (!setting.remark().isEmpty()) {
            remarks.add(setting.remark());
        }
        return remarks;
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
