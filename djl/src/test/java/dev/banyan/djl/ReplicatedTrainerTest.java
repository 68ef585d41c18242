package dev.banyan.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import ai.djl.Model;
import ai.djl.engine.Engine;
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
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.dataset.ArrayDataset;
import ai.djl.training.dataset.Batch;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;
import dev.banyan.djl.internal.torch.TorchMemory;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ReplicatedTrainerTest {
    private static final int BATCH = 16;

    @ParameterizedTest
    @ValueSource(strings = {"sgd", "momentum", "adam"})
    void replicasTrainAsOne(String optimizer) throws Exception {
        List<Float> one = losses(optimizer, 1);
        for (int replicas : new int[] {2, 4}) {
            List<Float> several = losses(optimizer, replicas);
            assertThat(several).hasSameSizeAs(one);
            for (int step = 0; step < one.size(); step++) {
                assertThat(several.get(step))
                        .as("step %d, %d replicas", step, replicas)
                        .isCloseTo(one.get(step), within(1e-4f * one.get(step)));
            }
        }
        assertThat(one.getLast()).isLessThan(one.getFirst());
    }

    @Test
    void replicasShareWhatGradientsChange() throws Exception {
        List<Block> others = new ArrayList<>();
        try (Model model = Model.newInstance("shared")) {
            model.setBlock(normalized());
            Supplier<Block> architecture = () -> {
                others.add(normalized());
                return others.getLast();
            };
            try (ReplicatedTrainer trainer = trainer(model, architecture, "sgd", 3)) {
                trainer.initialize(new Shape(4, 3));
                assertThat(others).hasSize(2);
                for (Block other : others) {
                    for (int p = 0; p < other.getParameters().size(); p++) {
                        Parameter first = model.getBlock().getParameters().valueAt(p);
                        OptionalLong memory = TorchMemory.address(
                                other.getParameters().valueAt(p).getArray());
                        assertThat(memory.equals(TorchMemory.address(first.getArray())))
                                .as(first.getName())
                                .isEqualTo(first.requiresGradient());
                    }
                }
            }
        }
    }

    @Test
    void aBatchThatIsTooSmallIsRefused() throws Exception {
        try (Model model = Model.newInstance("small")) {
            model.setBlock(block());
            try (ReplicatedTrainer trainer = trainer(model, "sgd", 4);
                    NDManager manager = Engine.getInstance().newBaseManager()) {
                trainer.initialize(new Shape(4, 3));
                Batch batch = dataset(manager, 2).getData(manager).iterator().next();
                assertThatThrownBy(() -> trainer.step(batch)).hasMessageContaining("2 samples for 4 replicas");
            }
        }
    }

    private static List<Float> losses(String optimizer, int replicas) throws Exception {
        Engine.getInstance().setRandomSeed(3);
        try (Model model = Model.newInstance("replicated");
                NDManager manager = Engine.getInstance().newBaseManager()) {
            model.setBlock(block());
            try (ReplicatedTrainer trainer = trainer(model, optimizer, replicas)) {
                trainer.initialize(new Shape(BATCH, 3));
                List<Float> losses = new ArrayList<>();
                ArrayDataset dataset = dataset(manager, BATCH);
                for (int epoch = 0; epoch < 10; epoch++) {
                    for (Batch batch : dataset.getData(manager)) {
                        losses.add(trainer.step(batch));
                        batch.close();
                    }
                }
                return losses;
            }
        }
    }

    private static ReplicatedTrainer trainer(Model model, String optimizer, int replicas) {
        return trainer(model, ReplicatedTrainerTest::block, optimizer, replicas);
    }

    private static ReplicatedTrainer trainer(
            Model model, Supplier<Block> architecture, String optimizer, int replicas) {
        Optimizer worker = switch (optimizer) {
            case "sgd" ->
                Optimizer.sgd().setLearningRateTracker(Tracker.fixed(0.1f)).build();
            case "momentum" ->
                Optimizer.sgd()
                        .setLearningRateTracker(Tracker.fixed(0.05f))
                        .optMomentum(0.9f)
                        .build();
            default ->
                Optimizer.adam().optLearningRateTracker(Tracker.fixed(0.01f)).build();
        };
        return new ReplicatedTrainer(
                model,
                architecture,
                new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss()).optOptimizer(worker),
                replicas);
    }

    private static Block block() {
        return new SequentialBlock()
                .add(Linear.builder().setUnits(8).build())
                .add(Activation::tanh)
                .add(Linear.builder().setUnits(3).build());
    }

    private static Block normalized() {
        return new SequentialBlock()
                .add(Linear.builder().setUnits(8).build())
                .add(BatchNorm.builder().build());
    }

    private static ArrayDataset dataset(NDManager manager, int samples) {
        Engine.getInstance().setRandomSeed(5);
        NDArray data = manager.randomNormal(new Shape(4L * samples, 3));
        return new ArrayDataset.Builder()
                .setData(data)
                .optLabels(data.argMax(1).toType(DataType.FLOAT32, false))
                .setSampling(samples, false)
                .build();
    }
}
