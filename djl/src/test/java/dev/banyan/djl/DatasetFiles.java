package dev.banyan.djl;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * Small files in the formats of DJL's datasets. Sample i has i as the first value of its data, so that a test knows
 * which sample it is.
 */
final class DatasetFiles {
    static final int SAMPLES = 32;

    private DatasetFiles() {}

    /** A column {@code x}, and a column {@code y}. */
    static Path csv(Path folder) throws IOException {
        List<String> lines =
                IntStream.range(0, SAMPLES).mapToObj(i -> i + "," + i % 3).toList();
        return Files.writeString(folder.resolve("table.csv"), "x,y\n" + String.join("\n", lines) + "\n");
    }

    /** A repository of DJL with MNIST's IDX files and CIFAR-10's rows of label and image. */
    static Path repository(Path folder) throws IOException, NoSuchAlgorithmException {
        ByteBuffer images = ByteBuffer.allocate(16 + SAMPLES * 28 * 28)
                .putInt(0x803)
                .putInt(SAMPLES)
                .putInt(28)
                .putInt(28);
        ByteBuffer labels = ByteBuffer.allocate(8 + SAMPLES).putInt(0x801).putInt(SAMPLES);
        ByteBuffer rows = ByteBuffer.allocate(SAMPLES * (1 + 3 * 32 * 32));
        for (int i = 0; i < SAMPLES; i++) {
            images.put(16 + i * 28 * 28, (byte) i);
            labels.put((byte) (i % 10));
            rows.put(i * (1 + 3 * 32 * 32), (byte) (i % 10)).put(i * (1 + 3 * 32 * 32) + 1, (byte) i);
        }
        write(folder, "mnist", Map.of("train_data", images.array(), "train_labels", labels.array()));
        write(folder, "cifar10", Map.of("data_batch.bin", rows.array()));
        return folder;
    }

    /** The files of a dataset, and its description. */
    private static void write(Path folder, String name, Map<String, byte[]> files)
            throws IOException, NoSuchAlgorithmException {
        Path place = Files.createDirectories(folder.resolve("dataset/cv/ai/djl/basicdataset/" + name));
        List<String> entries = new ArrayList<>();
        for (Map.Entry<String, byte[]> file : files.entrySet()) {
            Path path = Files.write(place.resolve(file.getKey()), file.getValue());
            byte[] hash = MessageDigest.getInstance("SHA-1").digest(file.getValue());
            entries.add("""
                "%s": {"uri": "%s", "name": "%s", "type": "file", "sha1Hash": "%s", "size": %d}\
                """.formatted(
                            file.getKey(),
                            path.toUri(),
                            file.getKey(),
                            HexFormat.of().formatHex(hash),
                            file.getValue().length));
        }
        String items = String.join(", ", entries);
        Files.writeString(place.resolve("metadata.json"), """
            {"metadataVersion": "0.1", "resourceType": "dataset", "application": "cv", "groupId": "ai.djl.basicdataset",
             "artifactId": "%s", "name": "%s", "artifacts": [{"version": "1.0", "snapshot": false, "name": "%s",
             "files": {%s}}]}
            """.formatted(name, name, name, items));
    }
}
