package dev.banyan.cli.bench.report;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.cli.bench.call.Call;
import dev.banyan.cli.bench.call.CopyBound;
import dev.banyan.cli.bench.call.Measurement;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.simulate.RangedCosts.TimeRange;
import dev.banyan.study.workload.PredictedCall;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class SummaryTest {
    private static final Call CALL = new Call(Collective.ALL_REDUCE, DataType.F32, ReduceOp.SUM, -1, 8);

    @Test
    void crossoverIsTheSizeFromWhichMultiTreeStaysFaster() {
        // At 1 KiB multi-tree wins once, which is not the crossover.
        Summary summary = new Summary(
                rows(new long[] {256, 1024, 4096, 16384}, new int[] {5, 6, 30, 90}, new int[] {4, 9, 20, 40}));
        assertThat(summary.crossover().orElseThrow())
                .isEqualTo("# several trees against one: multi-tree is faster than single-tree from 16 KiB on, with"
                        + " ranges that do not overlap");
        assertThat(summary.table("median time (us)"))
                .contains(
                        "#      1 KiB          5.0           4.0*",
                        "#      4 KiB          6.0*          9.0 ",
                        "#     64 KiB         90.0          40.0*");
    }

    @Test
    void packedTreesStandForAllThatAreSeveral() {
        List<Row> rows = rows(new long[] {256, 1024}, new int[] {5, 6}, new int[] {4, 5});
        rows.add(row(AlgorithmChoice.PACKING, 256, 7));
        rows.add(row(AlgorithmChoice.PACKING, 1024, 5));
        assertThat(new Summary(rows).crossover().orElseThrow())
                .startsWith("# several trees against one: packing is faster than single-tree from 4 KiB on");
        assertThat(new Summary(rows.subList(2, 4)).crossover()).isEmpty();
    }

    @Test
    void noCrossoverWhereMultiTreeIsSlowerAtTheLargestSize() {
        Summary summary = new Summary(rows(new long[] {256, 1024}, new int[] {5, 6}, new int[] {4, 9}));
        assertThat(summary.crossover().orElseThrow())
                .isEqualTo(
                        "# several trees against one: multi-tree is slower than single-tree at the largest size here");
    }

    /** Medians of 100 and 90 us, whose times spread by 20 us, do not tell which algorithm is faster. */
    @Test
    void noCrossoverWithinTheSpread() {
        List<Row> rows = List.of(
                row(AlgorithmChoice.SINGLE_TREE, 1024, 90, 90, 100, 110, 110),
                row(AlgorithmChoice.MULTI_TREE, 1024, 89, 90, 90, 90, 91));
        assertThat(new Summary(rows).crossover()).isEmpty();
        assertThat(new Summary(rows.reversed()).crossover()).isEmpty();
        List<Row> apart = List.of(
                row(AlgorithmChoice.SINGLE_TREE, 1024, 90, 90, 100, 110, 110),
                row(AlgorithmChoice.MULTI_TREE, 1024, 60, 60, 70, 80, 80));
        assertThat(new Summary(apart).crossover().orElseThrow())
                .isEqualTo("# several trees against one: multi-tree is faster than single-tree at every size here");
    }

    @Test
    void noShareIsAboveTheWhole() {
        Summary summary = new Summary(rows(new long[] {1024}, new int[] {20}, new int[] {50}));
        long traffic = 2 * 8 * 4096;
        assertThat(summary.expectation(new CopyBound(traffic, 24_000), new CopyBound(traffic, 5_000)))
                .contains("#   single-tree  100%   25%", "#    multi-tree   48%   10%")
                .last()
                .asString()
                .contains("by noise or in caches");
        assertThat(summary.expectation(new CopyBound(traffic, 20_000), new CopyBound(traffic, 5_000)))
                .noneMatch(line -> line.contains("noise"));
    }

    @Test
    void shareOfTheBoundIsOfTheTimeThatACopyTakes() {
        Summary summary = new Summary(rows(new long[] {1024}, new int[] {20}, new int[] {50}));
        long traffic = 2 * 8 * 4096;
        assertThat(summary.expectation(new CopyBound(traffic, 10_000), new CopyBound(traffic, 5_000)))
                .contains("#   single-tree   50%   25%", "#    multi-tree   20%   10%")
                .anyMatch(line -> line.contains("reaches 0.41 GB/s algbw out of place and 0.82 in place"));
    }

    @Test
    void timesInPlaceStandBesideTheLoopWrittenByHand() {
        Summary summary = new Summary(rows(new long[] {1024}, new int[] {20}, new int[] {50}));
        assertThat(summary.besideLoop())
                .contains(
                        "#       size         loop   single-tree    multi-tree ",
                        "#      4 KiB         10.0          20.0          50.0 ");
    }

    /** 10 us could be 30, more than 24; 5 us is at most 20, less than 24; what takes as long is no rival. */
    @Test
    void theLeastIsMarkedWhereRangesDoNotOverlap() {
        Summary summary = new Summary(List.of(
                predicted(AlgorithmChoice.AUTO, 256, 5, new TimeRange(4, 20)),
                predicted(AlgorithmChoice.AUTO, 1024, 10, new TimeRange(8, 30)),
                predicted(AlgorithmChoice.ONE_SHOT, 256, 5, new TimeRange(4, 20)),
                predicted(AlgorithmChoice.ONE_SHOT, 1024, 40, new TimeRange(31, 80)),
                predicted(AlgorithmChoice.NCCL, 256, 25, new TimeRange(24, 26)),
                predicted(AlgorithmChoice.NCCL, 1024, 25, new TimeRange(24, 26)),
                predicted(AlgorithmChoice.AUTO, 4096, 10, new TimeRange(8, 12)),
                predicted(AlgorithmChoice.ONE_SHOT, 4096, 40, new TimeRange(31, 80)),
                predicted(AlgorithmChoice.NCCL, 4096, 100, null)));
        assertThat(summary.table("predicted time (us)"))
                .containsExactly(
                        "# predicted time (us); * is the least, ties included, where no range of a longer time"
                                + " overlaps",
                        "#       size         auto      one-shot          nccl ",
                        "#      1 KiB          5.0*          5.0*         25.0 ",
                        "#      4 KiB         10.0          40.0          25.0 ",
                        "#     16 KiB         10.0          40.0         100.0 ",
                        "# no certain winner at 2 of 3 sizes: the ranges of the fastest overlap or are not known");
    }

    @Test
    void nothingIsMarkedWhereAllTakeAsLong() {
        assertThat(verdict(
                        predicted(AlgorithmChoice.AUTO, 256, 5, new TimeRange(4, 20)),
                        predicted(AlgorithmChoice.ONE_SHOT, 256, 5, new TimeRange(4, 20))))
                .isEqualTo("# no size has a certain winner: the ranges of the fastest overlap");
    }

    /** 5 us is marked at neither, as one of them is at most 30, more than 24. */
    @Test
    void allThatTakeAsLongMustWin() {
        Row auto = predicted(AlgorithmChoice.AUTO, 256, 5, new TimeRange(4, 20));
        Row oneShot = predicted(AlgorithmChoice.ONE_SHOT, 256, 5, new TimeRange(4, 30));
        Row nccl = predicted(AlgorithmChoice.NCCL, 256, 25, new TimeRange(24, 26));
        assertThat(verdict(auto, oneShot, nccl)).startsWith("# no size has a certain winner");
        assertThat(verdict(oneShot, auto, nccl)).startsWith("# no size has a certain winner");
        assertThat(verdict(auto, nccl)).doesNotContain("certain winner");
    }

    @Test
    void rangesThatOverlapLeaveOpenWhatIsFaster() {
        Summary summary = new Summary(List.of(
                predicted(AlgorithmChoice.AUTO, 1024, 10, new TimeRange(8, 30)),
                predicted(AlgorithmChoice.NCCL, 1024, 25, new TimeRange(24, 26))));
        assertThat(summary.table("predicted time (us)"))
                .startsWith("# predicted time (us)")
                .endsWith("# no size has a certain winner: the ranges of the fastest overlap");
        assertThat(summary.shareOf(0.8192, ""))
                .anyMatch(line -> line.endsWith("auto   50% (17% to 63%)"))
                .anyMatch(line -> line.endsWith("nccl   20% (19% to 21%)"));
        assertThat(verdict(
                        predicted(AlgorithmChoice.AUTO, 1024, 10, null),
                        predicted(AlgorithmChoice.NCCL, 1024, 25, null)))
                .isEqualTo("# no size has a certain winner: no range is known");
        assertThat(verdict(
                        predicted(AlgorithmChoice.AUTO, 1024, 10, new TimeRange(8, 12)),
                        predicted(AlgorithmChoice.NCCL, 1024, 25, null)))
                .isEqualTo("# no size has a certain winner: no range is known of nccl");
        assertThat(verdict(
                        predicted(AlgorithmChoice.AUTO, 1024, 10, new TimeRange(8, 12)),
                        predicted(AlgorithmChoice.STAR, 1024, 500, null),
                        predicted(AlgorithmChoice.NCCL, 1024, 25, new TimeRange(24, 26))))
                .isEqualTo("# no size has a certain winner: no range is known of star; the known ranges of others do"
                        + " not reach that of the fastest");
        assertThat(verdict(
                        predicted(AlgorithmChoice.AUTO, 1024, 10, new TimeRange(8, 30)),
                        predicted(AlgorithmChoice.STAR, 1024, 500, null),
                        predicted(AlgorithmChoice.NCCL, 1024, 25, new TimeRange(24, 26))))
                .isEqualTo("# no size has a certain winner: the ranges of the fastest overlap");
        assertThat(verdict(
                        predicted(AlgorithmChoice.AUTO, 1024, 10, new TimeRange(8, 30)),
                        predicted(AlgorithmChoice.STAR, 1024, 20, null),
                        predicted(AlgorithmChoice.NCCL, 1024, 25, new TimeRange(24, 26))))
                .isEqualTo("# no size has a certain winner: the ranges of the fastest overlap or are not known");
        assertThat(verdict(
                        predicted(AlgorithmChoice.AUTO, 256, 5, null),
                        predicted(AlgorithmChoice.AUTO, 1024, 10, null),
                        predicted(AlgorithmChoice.NCCL, 256, 25, null),
                        predicted(AlgorithmChoice.NCCL, 1024, 25, new TimeRange(24, 26))))
                .isEqualTo("# no size has a certain winner: no range is known of auto, the fastest");
        assertThat(verdict(
                        predicted(AlgorithmChoice.AUTO, 256, 5, new TimeRange(4, 6)),
                        predicted(AlgorithmChoice.AUTO, 1024, 30, null),
                        predicted(AlgorithmChoice.NCCL, 256, 25, null),
                        predicted(AlgorithmChoice.NCCL, 1024, 25, null)))
                .isEqualTo("# no size has a certain winner: no range is known of auto at some sizes, of nccl");
    }

    @Test
    void packingInTheSwitchIsNotSeveralTrees() {
        List<Row> rows = List.of(
                predicted(AlgorithmChoice.SINGLE_TREE, 1024, 10, new TimeRange(9, 11)),
                predicted(AlgorithmChoice.PACKING, 1024, 5, new TimeRange(4, 6)),
                predicted(AlgorithmChoice.MULTI_TREE, 1024, 9, new TimeRange(8, 10)));
        assertThat(new Summary(rows).crossover())
                .hasValueSatisfying(line -> assertThat(line).contains("packing is faster than single-tree"));
        assertThat(new Summary(rows, Map.of(AlgorithmConfig.of(AlgorithmChoice.PACKING), "in the switch")).crossover())
                .isEmpty();
    }

    @Test
    void remarksStandBesideNames() {
        Summary summary = new Summary(
                List.of(
                        predicted(AlgorithmChoice.PACKING, 1024, 10, null),
                        predicted(AlgorithmChoice.AUTO, 1024, 10, null)),
                Map.of(AlgorithmConfig.of(AlgorithmChoice.PACKING), "in the switch"));
        assertThat(summary.table("predicted time (us)"))
                .contains(
                        "#       size        packing            auto ", "#           (in the switch)                 ");
        assertThat(summary.shareOf(0.8192, ""))
                .anyMatch(line -> line.startsWith("# packing (in the switch)   50%"))
                .anyMatch(line -> line.startsWith("#                    auto   50%"));
    }

    /** Returns the line on winners. */
    private static String verdict(Row... rows) {
        return new Summary(List.of(rows)).table("predicted time (us)").getLast();
    }

    @Test
    void choicesOfAutoAreInOneLine() {
        Summary summary = new Summary(List.of(
                chosen(256, "one-shot"),
                chosen(1024, "one-shot"),
                chosen(4096, "star@16K"),
                chosen(65536, "ring@64K"),
                chosen(1 << 20, "ring@1048640"),
                chosen(4 << 20, "packing@1048640+ring+ring@64M")));
        assertThat(summary.choices())
                .containsExactly(
                        "# at these sizes auto takes one-shot from 1 KiB, star from 16 KiB, ring@64K from 256 KiB,"
                                + " ring@1M from 4 MiB, packing@1M+ring+ring from 16 MiB",
                        "# (after @: the length of the longest chunk)");
    }

    @Test
    void protocolsOfNcclAreInOneLine() {
        assertThat(new Summary(List.of(
                                chosen(AlgorithmChoice.NCCL, 256, "nccl/LL"),
                                chosen(AlgorithmChoice.NCCL, 1024, "nccl/NVLS"),
                                chosen(AlgorithmChoice.AUTO, 256, "star"),
                                chosen(AlgorithmChoice.AUTO, 1024, "star")))
                        .choices())
                .containsExactly(
                        "# at these sizes auto takes star from 1 KiB",
                        "# at these sizes the model of nccl takes LL from 1 KiB, NVLS from 4 KiB");
    }

    @Test
    void anotherChoiceInPlaceIsNamed() {
        Measurement apart = Measurement.predicted(CALL, 256, new PredictedCall(2, "packing/1", null));
        Measurement inPlace = Measurement.predicted(CALL, 256, new PredictedCall(1, "one-shot", null));
        assertThat(new Summary(List.of(
                                new Row(AlgorithmConfig.of(AlgorithmChoice.AUTO), CALL, 256, apart, inPlace, null)))
                        .choices())
                .containsExactly(
                        "# auto takes packing/1 (in place one-shot)",
                        "# (after /: the greatest number of trees or rings)");
    }

    private static Row chosen(long count, String choice) {
        return chosen(AlgorithmChoice.AUTO, count, choice);
    }

    private static Row chosen(AlgorithmChoice algorithm, long count, String choice) {
        Measurement predicted = Measurement.predicted(CALL, count, new PredictedCall(count, choice, null));
        return new Row(AlgorithmConfig.of(algorithm), CALL, count, predicted, predicted, null);
    }

    private static Row predicted(AlgorithmChoice algorithm, long count, double us, @Nullable TimeRange range) {
        Measurement predicted = Measurement.predicted(CALL, count, new PredictedCall(us, "", range));
        return new Row(AlgorithmConfig.of(algorithm), CALL, count, predicted, predicted, null);
    }

    private static List<Row> rows(long[] counts, int[] singleUs, int[] multiUs) {
        List<Row> rows = new ArrayList<>();
        for (int i = 0; i < counts.length; i++) {
            rows.add(row(AlgorithmChoice.SINGLE_TREE, counts[i], singleUs[i]));
        }
        for (int i = 0; i < counts.length; i++) {
            rows.add(row(AlgorithmChoice.MULTI_TREE, counts[i], multiUs[i]));
        }
        return rows;
    }

    private static Row row(AlgorithmChoice algorithm, long count, int... us) {
        long[] nanos = IntStream.of(us).mapToLong(each -> each * 1000L).toArray();
        Measurement measured = Measurement.of(CALL, count, nanos, 0L);
        return new Row(AlgorithmConfig.of(algorithm), CALL, count, measured, measured, us[0] / 2.0);
    }
}
