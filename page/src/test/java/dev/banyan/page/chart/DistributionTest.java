package dev.banyan.page.chart;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class DistributionTest {
    @Test
    void aDistributionRisesAtItsValues() {
        ChartCurve curve = Distribution.curve("push", List.of(2L, 8L), 1, 9);
        assertThat(curve.name()).isEqualTo("push");
        assertThat(curve.points())
                .containsExactly(
                        new ChartCurve.Point(2, 0),
                        new ChartCurve.Point(2, 50),
                        new ChartCurve.Point(8, 50),
                        new ChartCurve.Point(8, 100));
    }

    /** A logarithmic axis has no place for 0. */
    @Test
    void zerosAreWhereTheCurveBegins() {
        ChartCurve curve = Distribution.curve("push", List.of(0L, 0L, 0L, 5L), 2, 9);
        assertThat(curve.name()).isEqualTo("push (75% are 0)");
        assertThat(curve.points())
                .containsExactly(
                        new ChartCurve.Point(2, 75), new ChartCurve.Point(5, 75), new ChartCurve.Point(5, 100));
        assertThat(Distribution.curve("push", List.of(0L, 0L), 2, 9).points())
                .containsExactly(new ChartCurve.Point(2, 100), new ChartCurve.Point(9, 100));
    }
}
