package dev.banyan.cli.bench.report;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.cli.bench.call.Call;
import dev.banyan.cli.bench.call.Measurement;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.simulate.RangedCosts.TimeRange;
import dev.banyan.study.workload.PredictedCall;
import java.util.List;
import org.junit.jupiter.api.Test;

class NcclTableTest {
    private static final Call ALL_REDUCE = new Call(Collective.ALL_REDUCE, DataType.F32, ReduceOp.SUM, -1, 8);
    private static final Row ROW = new Row(
            AlgorithmConfig.of(AlgorithmChoice.RING),
            ALL_REDUCE,
            262144,
            Measurement.of(ALL_REDUCE, 262144, new long[] {300_000, 100_000}, 0L),
            Measurement.of(ALL_REDUCE, 262144, new long[] {12_345_678}, null),
            null);

    @Test
    void tableIsThatOfNcclTests() {
        assertThat(NcclTable.MEASURED.header())
                .containsExactly(
                        "#                                                 "
                                + "             out-of-place                       in-place          ",
                        "#       size         count      type   redop    root"
                                + "     time   algbw   busbw #wrong     time   algbw   busbw #wrong",
                        "#        (B)    (elements)                          "
                                + "     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       ");
        assertThat(NcclTable.MEASURED.row(ROW))
                .isEqualTo("     1048576        262144     float     sum      -1"
                        + "    200.0    5.24    9.18      0    12346    0.08    0.15    N/A");
    }

    @Test
    void headingsOfPredictionsStandAboveTheirColumns() {
        Measurement apart =
                Measurement.predicted(ALL_REDUCE, 262144, new PredictedCall(200, "ring", new TimeRange(150, 12_345)));
        Measurement together = Measurement.predicted(ALL_REDUCE, 262144, new PredictedCall(100, "ring", null));
        String same = NcclTable.PREDICTED.row(
                new Row(AlgorithmConfig.of(AlgorithmChoice.RING), ALL_REDUCE, 262144, apart, apart, null));
        String other = NcclTable.PREDICTED.row(
                new Row(AlgorithmConfig.of(AlgorithmChoice.RING), ALL_REDUCE, 262144, apart, together, null));
        assertThat(same).endsWith("    200.0    5.24    9.18      150.0..12345      same");
        assertThat(other).endsWith("      150.0..12345     100.0").hasSameSizeAs(same);
        assertThat(NcclTable.PREDICTED.header()).hasSize(3).allMatch(line -> line.length() == same.length());
    }

    @Test
    void footerHasTheAverageOverBothHalves() {
        assertThat(NcclTable.footer(List.of(ROW)))
                .containsExactly("# Out of bounds values : 0 OK", "# Avg bus bandwidth    : 4.6618");
    }

    @Test
    void rowIsSplitIntoThirteenColumns() {
        assertThat(NcclTable.MEASURED.row(ROW).strip().split("\\s+", -1)).hasSize(13);
    }
}
