package dev.banyan.study.measured;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * The report of {@code banyan validate}, in the order of its JSON.
 *
 * @param sweeps one per file
 * @param leftOut files that are no sweeps that can be compared, each with the reason
 */
public record ValidationReport(@JsonProperty("rows") List<SweepReport> sweeps, List<String> leftOut) {
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
    public record SweepReport(
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
            List<RowReport> rows) {}

    /**
     * A size.
     *
     * @param bytes as nccl-tests print it
     * @param measuredUs time of a call in us
     * @param simulatedUs the same as simulated
     * @param error of the simulated one, as a fraction of the measured
     * @param boundBy protocol, or launch
     */
    public record RowReport(long bytes, double measuredUs, double simulatedUs, double error, String boundBy) {}

    public static ValidationReport of(ComparedSweeps compared) {
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
}
