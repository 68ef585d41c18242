package dev.banyan.djl;

import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.metric.Metrics;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Activation;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Linear;
import ai.djl.nn.norm.BatchNorm;
import ai.djl.nn.norm.Dropout;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.EasyTrain;
import ai.djl.training.Trainer;
import ai.djl.training.dataset.ArrayDataset;
import ai.djl.training.evaluator.Accuracy;
import ai.djl.training.listener.SaveModelTrainingListener;
import ai.djl.training.listener.TrainingListener;
import ai.djl.training.loss.Loss;
import ai.djl.util.Pair;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Trains a model with batch normalisation, dropout and a frozen layer, validates it, saves checkpoints and the model,
 * and loads that. Writes what the trained and the loaded one have, each as a line per parameter, and the results of
 * evaluators. Knows nothing of Banyan.
 */
final class NormProgram {
    static final int BATCH = 16;
    static final int INPUTS = 6;

    private NormProgram() {}

    static void run(Path folder) throws Exception {
        String rank = System.getenv().getOrDefault("OMPI_COMM_WORLD_RANK", "alone");
        Engine.getInstance().setRandomSeed(9);
        try (Model model = Model.newInstance("norm");
                Model loaded = Model.newInstance("norm")) {
            model.setBlock(block());
            SaveModelTrainingListener checkpoints =
                    new SaveModelTrainingListener(folder.resolve("checkpoints").toString(), "norm", 1);
            DefaultTrainingConfig config = new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss())
                    .addEvaluator(new Accuracy())
                    .addTrainingListeners(TrainingListener.Defaults.basic())
                    .addTrainingListeners(checkpoints);
            List<String> results = new ArrayList<>();
            try (Trainer trainer = model.newTrainer(config)) {
                trainer.setMetrics(new Metrics());
                trainer.initialize(new Shape(BATCH, INPUTS));
                model.getBlock().getChildren().valueAt(4).freezeParameters(true);
                EasyTrain.fit(trainer, 3, dataset(trainer.getManager(), 88, 5), dataset(trainer.getManager(), 20, 6));
                EasyTrain.evaluateDataset(trainer, dataset(trainer.getManager(), 32, 7));
                trainer.getTrainingResult().getEvaluations().entrySet().stream()
                        .map(String::valueOf)
                        .sorted()
                        .forEach(results::add);
            }
            model.setProperty("Epoch", "7");
            model.save(folder.resolve("model"), "norm");
            loaded.setBlock(block());
            loaded.load(folder.resolve("model"));
            Files.write(folder.resolve("trained-" + rank + ".txt"), parameters(model.getBlock()));
            Files.write(folder.resolve("loaded-" + rank + ".txt"), parameters(loaded.getBlock()));
            Files.write(folder.resolve("results-" + rank + ".txt"), results);
        }
    }

    private static Block block() {
        return new SequentialBlock()
                .add(BatchNorm.builder().build())
                .add(Linear.builder().setUnits(8).build())
                .add(BatchNorm.builder().build())
                .add(Activation::relu)
                .add(Linear.builder().setUnits(8).build())
                .add(Dropout.builder().optRate(0.1f).build())
                .add(Linear.builder().setUnits(3).build());
    }

    private static List<String> parameters(Block block) {
        List<String> lines = new ArrayList<>();
        for (Pair<String, Parameter> pair : block.getParameters()) {
            lines.add(pair.getKey() + " "
                    + Arrays.toString(pair.getValue().getArray().toFloatArray()));
        }
        return lines;
    }

    private static ArrayDataset dataset(NDManager manager, int samples, int seed) {
        Engine.getInstance().setRandomSeed(seed);
        NDArray data = manager.randomNormal(new Shape(samples, INPUTS)).add(1);
        NDArray labels = data.get(":, 0:3").argMax(1).toType(DataType.FLOAT32, false);
        return new ArrayDataset.Builder()
                .setData(data)
                .optLabels(labels)
                .setSampling(BATCH, true)
                .build();
    }
}
