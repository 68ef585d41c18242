package dev.banyan.cli.plot;

import de.erichseifert.vectorgraphics2d.VectorGraphics2D;
import de.erichseifert.vectorgraphics2d.svg.SVGProcessor;
import de.erichseifert.vectorgraphics2d.util.PageSize;
import dev.banyan.cli.output.TextFile;
import java.awt.Graphics2D;
import java.awt.RenderingHints;
import java.awt.image.BufferedImage;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.List;
import java.util.stream.Collectors;
import javax.imageio.ImageIO;

/**
 * Charts below one another, so that a page shows them at full width. The same charts make the same file on the same
 * machine; fonts differ between machines.
 *
 * @param charts from top to bottom, at least one
 */
public record Picture(List<LineChart> charts) {
    /** Of each chart, in pixels. */
    public static final int WIDTH = 700;

    /** Of each chart, in pixels. */
    public static final int HEIGHT = 460;

    public Picture {
        charts = List.copyOf(charts);
        if (charts.isEmpty()) {
            throw new IllegalArgumentException("a picture of no charts");
        }
    }

    /**
     * Writes it, over what is there.
     *
     * @throws UncheckedIOException if the file can't be written
     */
    public void write(PlotFile file) {
        TextFile.write(file.path(), (TextFile.Content) path -> Files.write(path, bytes(file.format())));
    }

    private byte[] bytes(PlotFile.Format format) throws IOException {
        return switch (format) {
            case SVG -> svg().getBytes(StandardCharsets.UTF_8);
            case PNG -> {
                ByteArrayOutputStream bytes = new ByteArrayOutputStream();
                if (!ImageIO.write(png(), "png", bytes)) {
                    throw new IllegalStateException("this Java can't write PNG; name a file that ends in .svg");
                }
                yield bytes.toByteArray();
            }
        };
    }

    /** Letters are drawn as outlines, so that they look the same everywhere; the words are in a description. */
    private String svg() throws IOException {
        VectorGraphics2D graphics = new VectorGraphics2D();
        draw(graphics);
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        new SVGProcessor()
                .getDocument(graphics.getCommands(), new PageSize(0, 0, WIDTH, height()))
                .writeTo(bytes);
        String drawing = bytes.toString(StandardCharsets.UTF_8);
        int inside = drawing.indexOf('>', drawing.indexOf("<svg")) + 1;
        return drawing.substring(0, inside) + "\n  <desc>" + escaped(description()) + "</desc>"
                + drawing.substring(inside);
    }

    private String description() {
        return charts.stream()
                .map(chart -> chart.title() + ": " + chart.y().title() + " over "
                        + chart.x().title() + "; "
                        + chart.curves().stream().map(Curve::name).collect(Collectors.joining(", ")))
                .collect(Collectors.joining(". "));
    }

    private static String escaped(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;");
    }

    private BufferedImage png() {
        BufferedImage image = new BufferedImage(WIDTH, height(), BufferedImage.TYPE_INT_RGB);
        Graphics2D graphics = image.createGraphics();
        graphics.setRenderingHint(RenderingHints.KEY_STROKE_CONTROL, RenderingHints.VALUE_STROKE_PURE);
        draw(graphics);
        graphics.dispose();
        return image;
    }

    private int height() {
        return charts.size() * HEIGHT;
    }

    private void draw(Graphics2D graphics) {
        for (LineChart chart : charts) {
            chart.draw(graphics, WIDTH, HEIGHT);
            graphics.translate(0, HEIGHT);
        }
    }
}
