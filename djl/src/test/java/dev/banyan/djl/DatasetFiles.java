package dev.banyan.djl;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Small files in the formats of DJL's datasets. Sample i has i as the first value of its data, so that samples can be told
 * apart.
 */
final class DatasetFiles {
    static final int SAMPLES = 32;

    private DatasetFiles() {}

    /** A column {@code x}, and a column {@code y}. */
    static Path csv(Path folder) throws IOException {
        List<String> lines = IntStream.range(0, SAMPLES).mapToObj(i -> i + "," + i % 3).toList();
        return Files.writeString(folder.resolve("table.csv"), "x,y\n" + String.join("\n", lines) + "\n");
    }

    /** A repository of DJL with MNIST's IDX files and CIFAR-10's rows of label and image. */
    static Path repository(Path folder) throws IOException {
        Path mnist = item(folder, "mnist", List.of("train_data", "train_labels"));
        ByteBuffer images = ByteBuffer.allocate(16 + SAMPLES * 28 * 28)
                .putInt(0x803).putInt(SAMPLES).putInt(28).putInt(28);
        ByteBuffer labels = ByteBuffer.allocate(8 + SAMPLES).putInt(0x801).putInt(SAMPLES);
        ByteBuffer rows = ByteBuffer.allocate(SAMPLES * (1 + 3 * 32 * 32));
        for (int i = 0; i < SAMPLES; i++) {
            images.put(16 + i * 28 * 28, (byte) i);
            labels.put((byte) (i % 10));
            rows.put(i * (1 + 3 * 32 * 32), (byte) (i % 10)).put(i * (1 + 3 * 32 * 32) + 1, (byte) i);
        }
        Files.write(mnist.resolve("train_data"), images.array());
        Files.write(mnist.resolve("train_labels"), labels.array());
        Files.write(item(folder, "cifar10", List.of("data_batch.bin")).resolve("data_batch.bin"), rows.array());
        return folder;
    }

    /** The folder of a dataset, with its description. */
    private static Path item(Path folder, String name, List<String> files) throws IOException {
        Path place = Files.createDirectories(folder.resolve("dataset/cv/ai/djl/basicdataset/" + name));
        String items = files.stream()
                .map(file -> "\"%s\": {\"uri\": \"%s\", \"name\": \"%s\", \"type\": \"file\", \"sha1Hash\": \"\", \"size\": 1}"
                        .formatted(file, place.resolve(file).toUri(), file))
                .collect(Collectors.joining(", "));
        Files.writeString(
                place.resolve("metadata.json"),
                """
                {"metadataVersion": "0.1", "resourceType": "dataset", "application": "cv", "groupId": "ai.djl.basicdataset",
                 "artifactId": "%s", "name": "%s", "artifacts": [{"version": "1.0", "snapshot": false, "name": "%s",
                 "files": {%s}}]}
                """
                        .formatted(name, name, name, items));
        return place;
    }
}
