package dev.banyan.djl;

import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.metric.Metrics;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Activation;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Linear;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.EasyTrain;
import ai.djl.training.Trainer;
import ai.djl.training.dataset.ArrayDataset;
import ai.djl.training.evaluator.Accuracy;
import ai.djl.training.listener.EvaluatorTrainingListener;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;
import ai.djl.util.Pair;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** A training program that knows nothing of Banyan. It writes the losses of all steps, and the last weights. */
final class TrainingProgram {
    static final int BATCH = 32;
    private static final int SAMPLES = 640;
    static final int INPUTS = 12;
    private static final int CLASSES = 4;

    private TrainingProgram() {}

    /** Argument: a folder. */
    public static void main(String[] arguments) throws Exception {
        run(Path.of(arguments[0]), 2, "adam");
    }

    /** @param epochs of 20 steps */
    static void run(Path folder, int epochs, String... optimizers) throws Exception {
        String rank = System.getenv().getOrDefault("OMPI_COMM_WORLD_RANK", "alone");
        for (String optimizer : optimizers) {
            Files.write(folder.resolve(optimizer + "-" + rank + ".txt"), train(optimizer, epochs));
        }
    }

    /** The losses, an empty line, and the weights. */
    private static List<String> train(String optimizer, int epochs) throws Exception {
        Engine.getInstance().setRandomSeed(42);
        try (Model model = Model.newInstance("mlp")) {
            model.setBlock(block());
            DefaultTrainingConfig config = new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss())
                    .optOptimizer(optimizer(optimizer))
                    .addEvaluator(new Accuracy())
                    .addTrainingListeners(new EvaluatorTrainingListener());
            try (Trainer trainer = model.newTrainer(config)) {
                Metrics metrics = new Metrics();
                trainer.setMetrics(metrics);
                trainer.initialize(new Shape(BATCH, INPUTS));
                EasyTrain.fit(trainer, epochs, dataset(trainer.getManager()), null);
                List<String> lines = new ArrayList<>();
                metrics.getMetric("train_all_SoftmaxCrossEntropyLoss")
                        .forEach(metric ->
                                lines.add(String.valueOf(metric.getValue().doubleValue())));
                lines.add("");
                for (Pair<String, Parameter> pair : model.getBlock().getParameters()) {
                    for (float weight : pair.getValue().getArray().toFloatArray()) {
                        lines.add(Float.toString(weight));
                    }
                }
                return lines;
            }
        }
    }

    static Block block() {
        return new SequentialBlock()
                .add(Linear.builder().setUnits(24).build())
                .add(Activation::relu)
                .add(Linear.builder().setUnits(CLASSES).build());
    }

    static Optimizer optimizer(String name) {
        return switch (name) {
            case "sgd" ->
                Optimizer.sgd().setLearningRateTracker(Tracker.fixed(0.05f)).build();
            case "momentum" ->
                Optimizer.sgd()
                        .setLearningRateTracker(Tracker.fixed(0.02f))
                        .optMomentum(0.9f)
                        .build();
            case "adam" ->
                Optimizer.adam().optLearningRateTracker(Tracker.fixed(0.005f)).build();
            default -> throw new IllegalArgumentException(name);
        };
    }

    static ArrayDataset dataset(NDManager manager) {
        Random random = new Random(7);
        float[] data = new float[SAMPLES * INPUTS];
        float[] labels = new float[SAMPLES];
        for (int sample = 0; sample < SAMPLES; sample++) {
            labels[sample] = random.nextInt(CLASSES);
            for (int i = 0; i < INPUTS; i++) {
                data[sample * INPUTS + i] = (float) (random.nextGaussian() + (i % CLASSES == labels[sample] ? 1 : 0));
            }
        }
        return new ArrayDataset.Builder()
                .setData(manager.create(data, new Shape(SAMPLES, INPUTS)))
                .optLabels(manager.create(labels))
                .setSampling(BATCH, true)
                .build();
    }
}
