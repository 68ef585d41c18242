package dev.banyan.study.figures;

import dev.banyan.study.text.ResourceTable;
import java.util.List;

/**
 * The training rate of one V100, from the table in {@code throughput.txt}, which names its sources.
 *
 * @param model e.g. {@code resnet-50}
 * @param batch images per step
 * @param imagesPerSecond without any communication
 */
public record Throughput(String model, int batch, double imagesPerSecond) {
    private static final String TABLE = "throughput.txt";

    public static List<Throughput> all() {
        return ResourceTable.rows(Throughput.class, TABLE, 3).stream()
                .map(cells -> new Throughput(cells[0], Integer.parseInt(cells[1]), Double.parseDouble(cells[2])))
                .toList();
    }

    /** Time of a step in us. */
    public double stepUs() {
        return batch / imagesPerSecond * 1e6;
    }
}
