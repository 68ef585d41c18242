package dev.banyan.cli.figures;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;

/**
 * What one V100 trains, from the table in {@code throughput.txt}, which says where its figures are from.
 *
 * @param model e.g. {@code resnet-50}
 * @param batch images per step
 * @param imagesPerSecond without any communication
 */
record Throughput(String model, int batch, double imagesPerSecond) {
    private static final String TABLE = "throughput.txt";

    static List<Throughput> all() {
        try (InputStream in = Objects.requireNonNull(Throughput.class.getResourceAsStream(TABLE), TABLE)) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8)
                    .lines()
                    .filter(line -> !line.startsWith("#"))
                    .map(line -> line.split(" ", -1))
                    .map(cells -> new Throughput(cells[0], Integer.parseInt(cells[1]), Double.parseDouble(cells[2])))
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Time of a step in us. */
    double stepUs() {
        return batch / imagesPerSecond * 1e6;
    }
}
