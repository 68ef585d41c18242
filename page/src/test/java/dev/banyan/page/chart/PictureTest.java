package dev.banyan.page.chart;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.StringReader;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.xml.sax.InputSource;

class PictureTest {
    private static LineChart chart(String title) {
        return new LineChart(
                title,
                new Axis("size (bytes)", Scale.BYTES),
                new Axis("time", Scale.MICROSECONDS),
                List.of(
                        new ChartCurve(
                                "ring & tree",
                                List.of(new ChartCurve.Point(1024, 10), new ChartCurve.Point(1 << 20, 900))),
                        new ChartCurve(
                                "star", List.of(new ChartCurve.Point(1024, 20), new ChartCurve.Point(1 << 20, 0)))));
    }

    @Test
    void svgHasTheNamesOfAllCurves() throws Exception {
        String svg = new Picture(List.of(chart("alone"))).svg();
        DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
        factory.setFeature("http://apache.org/xml/features/nonvalidating/load-external-dtd", false);
        String text = factory.newDocumentBuilder()
                .parse(new InputSource(new StringReader(svg)))
                .getDocumentElement()
                .getTextContent();
        assertThat(text).contains("alone", "ring & tree", "star", "size (bytes)", "time");
    }

    /** All algorithms, auto, nccl and the bound. */
    @Test
    void everyCurveHasAColourOfItsOwn() {
        List<ChartCurve> curves = IntStream.range(0, 9)
                .mapToObj(i -> new ChartCurve(
                        "curve" + i, List.of(new ChartCurve.Point(1, i), new ChartCurve.Point(100, 10 * i))))
                .toList();
        String svg = new Picture(
                        List.of(new LineChart("", new Axis("", Scale.COUNT), new Axis("", Scale.LINEAR), curves)))
                .svg();
        assertThat(Pattern.compile("h20\" stroke=\"([^\"]+)\" stroke-width")
                        .matcher(svg)
                        .results()
                        .map(found -> found.group(1)))
                .hasSize(9)
                .doesNotHaveDuplicates();
    }

    /** The first of two equal curves is drawn wider, so that its colour shows on both sides of the second. */
    @Test
    void aCurveBehindAnotherIsSeen() {
        List<ChartCurve.Point> same = List.of(new ChartCurve.Point(1, 10), new ChartCurve.Point(100, 90));
        String svg = new Picture(List.of(new LineChart(
                        "",
                        new Axis("", Scale.COUNT),
                        new Axis("", Scale.LINEAR),
                        List.of(new ChartCurve("first", same), new ChartCurve("second", same)))))
                .svg();
        assertThat(svg).containsPattern("#0072b2\" fill=\"none\"><path d=\"[^\"]+\" stroke-width=\"6\"");
    }

    @ParameterizedTest
    @CsvSource({
        "BYTES, 4096, 4K",
        "BYTES, 1073741824, 1G",
        "COUNT, 10000000, 10M",
        "MICROSECONDS, 0.1, 0.1 us",
        "MICROSECONDS, 100, 100 us",
        "MICROSECONDS, 10000000, 10 s",
        "LINEAR, 20, 20"
    })
    void peopleCanReadTheTicks(Scale scale, double value, String label) {
        assertThat(scale.label(scale.value(scale.place(value)))).isEqualTo(label);
    }
}
