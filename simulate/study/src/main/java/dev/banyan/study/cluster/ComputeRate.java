package dev.banyan.study.cluster;

import dev.banyan.study.text.ResourceTable;
import dev.banyan.topology.Machine;
import java.util.List;
import java.util.Optional;

/**
 * The training rate of one GPU without any communication.
 *
 * @param gpu e.g. {@code P100}
 * @param model e.g. {@code resnet-50}
 * @param batch images per step
 * @param imagesPerSecond rate
 * @param source where it is from
 */
public record ComputeRate(String gpu, String model, int batch, double imagesPerSecond, String source) {
    private static final String TABLE = "compute.txt";
    private static final int FIELDS = 5;

    public static List<ComputeRate> all() {
        return ResourceTable.rows(ComputeRate.class, TABLE, FIELDS).stream()
                .map(cells -> new ComputeRate(
                        cells[0], cells[1], Integer.parseInt(cells[2]), Double.parseDouble(cells[3]), cells[4]))
                .toList();
    }

    /** The rate of a machine's GPUs, by their model. */
    public static Optional<ComputeRate> of(Machine machine, String model, int batch) {
        String gpu = machine.devices().getFirst().attributes().getOrDefault("model", "");
        return all().stream()
                .filter(rate -> gpu.contains(rate.gpu()) && rate.model().equals(model) && rate.batch() == batch)
                .findFirst();
    }

    /** Time of a step in us. */
    public double stepUs() {
        return batch / imagesPerSecond * 1e6;
    }
}
