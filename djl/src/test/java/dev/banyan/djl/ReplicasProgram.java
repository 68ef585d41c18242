package dev.banyan.djl;

import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.dataset.Batch;
import ai.djl.training.dataset.Dataset;
import ai.djl.training.loss.Loss;
import ai.djl.util.Pair;
import dev.banyan.schedule.plan.Algorithms;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Four replicas, of which each process has an equal share, train with reproducible sums. */
final class ReplicasProgram {
    private static final int REPLICAS = 4;
    private static final int EPOCHS = 10;

    private ReplicasProgram() {}

    /** Writes the bits of the parameters after 200 steps. */
    static void run(Path folder) throws Exception {
        Files.write(folder.resolve("replicas-" + Banyan.rank() + ".txt"), train());
    }

    /** Returns the bits of the parameters after 200 steps. */
    static List<String> train() throws Exception {
        System.setProperty(Algorithms.REPRODUCIBLE.name(), "1");
        Engine.getInstance().setRandomSeed(42);
        try (Model model = Model.newInstance("replicas")) {
            model.setBlock(TrainingProgram.block());
            DefaultTrainingConfig config = new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss())
                    .optOptimizer(TrainingProgram.optimizer("momentum"));
            try (ReplicatedTrainer trainer =
                    new ReplicatedTrainer(model, TrainingProgram::block, config, REPLICAS / Banyan.size())) {
                trainer.initialize(new Shape(TrainingProgram.BATCH / REPLICAS, TrainingProgram.INPUTS));
                Dataset dataset = Banyan.shard(TrainingProgram.dataset(model.getNDManager()));
                for (int epoch = 0; epoch < EPOCHS; epoch++) {
                    for (Batch batch : dataset.getData(model.getNDManager())) {
                        trainer.step(batch);
                        batch.close();
                    }
                }
            }
            List<String> lines = new ArrayList<>();
            for (Pair<String, Parameter> pair : model.getBlock().getParameters()) {
                for (float weight : pair.getValue().getArray().toFloatArray()) {
                    lines.add(Float.toHexString(weight));
                }
            }
            return lines;
        } finally {
            System.clearProperty(Algorithms.REPRODUCIBLE.name());
        }
    }
}
