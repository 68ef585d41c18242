package dev.banyan.examples.mnist;

import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.metric.Metric;
import ai.djl.metric.Metrics;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Activation;
import ai.djl.nn.Blocks;
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
import ai.djl.translate.TranslateException;
import java.io.IOException;
import java.util.List;
import java.util.Random;

/**
 * Trains a perceptron on images of digits for 200 steps. It prints the loss of each step, as comma-separated values,
 * and then a line with that of the last step; under mpirun the first process alone prints. The images are made up here
 * (a blot per digit, and noise), so that nothing is downloaded; their shape is MNIST's.
 */
public final class TrainMnist {
    private static final int SIDE = 28;
    private static final int CLASSES = 10;
    private static final int IMAGES = 1280;
    private static final int BATCH = 64;
    private static final int EPOCHS = 10;

    private TrainMnist() {}

    /** Trains. */
    public static void main(String[] arguments) throws IOException, TranslateException {
        Engine.getInstance().setRandomSeed(42);
        try (Model model = Model.newInstance("mnist")) {
            model.setBlock(new SequentialBlock()
                    .add(Blocks.batchFlattenBlock(SIDE * SIDE))
                    .add(Linear.builder().setUnits(128).build())
                    .add(Activation::relu)
                    .add(Linear.builder().setUnits(64).build())
                    .add(Activation::relu)
                    .add(Linear.builder().setUnits(CLASSES).build()));
            DefaultTrainingConfig config = new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss())
                    .optOptimizer(Optimizer.sgd()
                            .setLearningRateTracker(Tracker.fixed(0.02f))
                            .optMomentum(0.9f)
                            .build())
                    .addEvaluator(new Accuracy())
                    .addTrainingListeners(new EvaluatorTrainingListener());
            try (Trainer trainer = model.newTrainer(config)) {
                Metrics metrics = new Metrics();
                trainer.setMetrics(metrics);
                trainer.initialize(new Shape(1, SIDE, SIDE));
                EasyTrain.fit(trainer, EPOCHS, images(trainer.getManager()), null);
                // mpirun numbers its processes; without it there is one.
                if (System.getenv().getOrDefault("OMPI_COMM_WORLD_RANK", "0").equals("0")) {
                    printLosses(metrics.getMetric("train_all_SoftmaxCrossEntropyLoss"));
                }
            }
        }
    }

    private static void printLosses(List<Metric> losses) {
        StringBuilder table = new StringBuilder("step,loss\n");
        int step = 0;
        for (Metric loss : losses) {
            table.append(++step).append(',').append(loss.getValue()).append('\n');
        }
        System.out.print(table);
        System.out.println("# loss of step " + step + ": " + losses.getLast().getValue());
    }

    private static ArrayDataset images(NDManager manager) {
        Random random = new Random(1);
        float[] pixels = new float[IMAGES * SIDE * SIDE];
        float[] digits = new float[IMAGES];
        for (int image = 0; image < IMAGES; image++) {
            int digit = random.nextInt(CLASSES);
            digits[image] = digit;
            for (int y = 0; y < SIDE; y++) {
                for (int x = 0; x < SIDE; x++) {
                    boolean blot = x / 6 == digit % 5 && y / 14 == digit / 5;
                    pixels[(image * SIDE + y) * SIDE + x] = (blot ? 0.3f : 0f) + 0.4f * (float) random.nextGaussian();
                }
            }
        }
        return new ArrayDataset.Builder()
                .setData(manager.create(pixels, new Shape(IMAGES, SIDE, SIDE)))
                .optLabels(manager.create(digits))
                .setSampling(BATCH, true)
                .build();
    }
}
