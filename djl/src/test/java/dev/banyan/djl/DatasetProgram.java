package dev.banyan.djl;

import ai.djl.Model;
import ai.djl.basicdataset.cv.classification.Cifar10;
import ai.djl.basicdataset.cv.classification.Mnist;
import ai.djl.basicdataset.tabular.CsvDataset;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.nn.Blocks;
import ai.djl.repository.Repository;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.Trainer;
import ai.djl.training.dataset.ArrayDataset;
import ai.djl.training.dataset.Batch;
import ai.djl.training.dataset.Dataset;
import ai.djl.training.loss.Loss;
import ai.djl.translate.TranslateException;
import ai.djl.util.Progress;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.commons.csv.CSVFormat;
import org.jspecify.annotations.Nullable;

/**
 * Reads datasets of every kind through a trainer, in random order, and writes which samples it saw, and how far it
 * got.
 */
final class DatasetProgram {
    static final List<String> NAMES = List.of("array", "csv", "mnist", "cifar10", "stream");
    private static final int BATCH = 8;

    private DatasetProgram() {}

    /** Returns the samples that all processes see together. */
    static List<String> samples() {
        return IntStream.range(0, DatasetFiles.SAMPLES)
                .mapToObj(String::valueOf)
                .toList();
    }

    static void run(Path folder) throws Exception {
        String rank = System.getenv("OMPI_COMM_WORLD_RANK");
        Path files = Files.createDirectories(folder.resolve("files" + rank));
        try (Model model = Model.newInstance("reader")) {
            model.setBlock(Blocks.identityBlock());
            try (Trainer trainer = model.newTrainer(new DefaultTrainingConfig(Loss.l2Loss()))) {
                for (String name : NAMES) {
                    List<String> seen = new ArrayList<>();
                    long progress = 0;
                    for (Batch batch : trainer.iterateDataset(dataset(name, files, trainer.getManager()))) {
                        NDArray data = batch.getData().head();
                        float scale = name.equals("mnist") || name.equals("cifar10") ? 255 : 1;
                        for (int i = 0; i < batch.getSize(); i++) {
                            seen.add(String.valueOf(
                                    Math.round(data.get(i).flatten().getFloat(0) * scale)));
                        }
                        progress = 100 * batch.getProgress() / batch.getProgressTotal();
                        batch.close();
                    }
                    Files.write(folder.resolve(name + "-" + rank + ".txt"), seen);
                    Files.writeString(folder.resolve(name + "-" + rank + ".progress"), progress + "%");
                }
            }
        }
    }

    private static Dataset dataset(String name, Path files, NDManager manager)
            throws IOException, NoSuchAlgorithmException {
        NDArray numbers = manager.arange((float) DatasetFiles.SAMPLES).reshape(-1, 1);
        return switch (name) {
            case "array" ->
                new ArrayDataset.Builder()
                        .setData(numbers)
                        .optLabels(numbers)
                        .setSampling(BATCH, true)
                        .build();
            case "csv" ->
                CsvDataset.builder()
                        .optCsvFile(DatasetFiles.csv(files))
                        .setCsvFormat(CSVFormat.DEFAULT
                                .builder()
                                .setHeader()
                                .setSkipHeaderRecord(true)
                                .get())
                        .addNumericFeature("x")
                        .addNumericLabel("y")
                        .setSampling(BATCH, true)
                        .build();
            case "mnist" ->
                Mnist.builder()
                        .optRepository(Repository.newInstance("files", DatasetFiles.repository(files)))
                        .setSampling(BATCH, true)
                        .build();
            case "cifar10" ->
                Cifar10.builder()
                        .optRepository(Repository.newInstance("files", DatasetFiles.repository(files)))
                        .setSampling(BATCH, true)
                        .build();
            default -> new Stream(numbers);
        };
    }

    /** A dataset without random access. */
    private record Stream(NDArray numbers) implements Dataset {
        @Override
        public Iterable<Batch> getData(NDManager manager) throws IOException, TranslateException {
            return new ArrayDataset.Builder()
                    .setData(numbers)
                    .optLabels(numbers)
                    .setSampling(BATCH, false)
                    .build()
                    .getData(manager);
        }

        @Override
        public void prepare(@Nullable Progress progress) {}
    }
}
