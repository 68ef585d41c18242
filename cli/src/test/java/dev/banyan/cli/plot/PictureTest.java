package dev.banyan.cli.plot;

import static org.assertj.core.api.Assertions.assertThat;

import java.awt.Color;
import java.awt.image.BufferedImage;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import javax.imageio.ImageIO;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PictureTest {
    @TempDir
    private Path folder;

    private static LineChart chart(String title) {
        return new LineChart(
                title,
                new Axis("size (bytes)", Scale.BYTES),
                new Axis("time", Scale.MICROSECONDS),
                List.of(
                        new Curve("ring & tree", List.of(new Curve.Point(1024, 10), new Curve.Point(1 << 20, 900))),
                        new Curve("star", List.of(new Curve.Point(1024, 20), new Curve.Point(1 << 20, 0)))));
    }

    @Test
    void pngHasACanvasPerChart() throws IOException {
        Path file = folder.resolve("two.PNG");
        new Picture(List.of(chart("above"), chart("below"))).write(PlotFile.of(file));
        BufferedImage image = ImageIO.read(file.toFile());
        assertThat(image.getWidth()).isEqualTo(Picture.WIDTH);
        assertThat(image.getHeight()).isEqualTo(2 * Picture.HEIGHT);
    }

    @Test
    void svgHasTheNamesOfAllCurves() throws Exception {
        Path file = folder.resolve("one.svg");
        new Picture(List.of(chart("alone"))).write(PlotFile.of(file));
        DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
        factory.setFeature("http://apache.org/xml/features/nonvalidating/load-external-dtd", false);
        String text = factory.newDocumentBuilder()
                .parse(file.toFile())
                .getDocumentElement()
                .getTextContent();
        assertThat(text).contains("alone", "ring & tree", "star", "size (bytes)", "time");
    }

    /** The first of two equal curves is drawn wider, so that its colour shows on both sides of the second. */
    @Test
    void aCurveBehindAnotherIsSeen() throws IOException {
        List<Curve.Point> same = List.of(new Curve.Point(1, 10), new Curve.Point(100, 90));
        Curve other = new Curve("other", List.of(new Curve.Point(1, 50), new Curve.Point(100, 50)));
        assertThat(pixels(List.of(new Curve("first", same), other), LineChart.COLORS[0]))
                .isGreaterThan(200);
        assertThat(pixels(List.of(new Curve("first", same), new Curve("second", same), other), LineChart.COLORS[0]))
                .isGreaterThan(1000);
    }

    private int pixels(List<Curve> curves, Color color) throws IOException {
        Path file = folder.resolve("curves.png");
        LineChart chart = new LineChart("", new Axis("", Scale.COUNT), new Axis("", Scale.LINEAR), curves);
        new Picture(List.of(chart)).write(PlotFile.of(file));
        BufferedImage image = ImageIO.read(file.toFile());
        int found = 0;
        for (int x = 0; x < image.getWidth(); x++) {
            for (int y = 0; y < image.getHeight(); y++) {
                found += image.getRGB(x, y) == color.getRGB() ? 1 : 0;
            }
        }
        return found;
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
