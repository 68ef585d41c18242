package dev.banyan.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.ndarray.types.SparseFormat;
import ai.djl.training.GradientCollector;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;
import dev.banyan.config.Config;
import dev.banyan.djl.internal.processes.Processes;
import dev.banyan.djl.internal.server.BanyanParameterServer;
import dev.banyan.djl.internal.server.Replicas;
import dev.banyan.djl.internal.torch.Slot;
import dev.banyan.schedule.plan.Algorithms;
import dev.banyan.schedule.type.DataType;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Two processes, of which the other one has 5 for everything, by default. */
class BanyanParameterServerTest {
    private final NDManager manager = Engine.getInstance().newBaseManager();
    private final OtherHasFives processes = new OtherHasFives();

    @AfterEach
    void free() {
        manager.close();
    }

    @Test
    void gradientsOfSeveralBackwardPassesAreExchangedOnce() {
        NDArray weight = parameter(ai.djl.ndarray.types.DataType.FLOAT32);
        try (BanyanParameterServer server = server(processes)) {
            server.init("weight", new NDArray[] {weight});
            for (int step = 0; step < 2; step++) {
                backward(weight);
                backward(weight);
                server.update("weight", new NDArray[] {weight});
            }
        }
        // Each pass adds 3, so a step subtracts the mean of 6 and 5.
        assertThat(weight.toFloatArray()).containsExactly(-10, -10);
        assertThat(processes.counts()).containsExactly(2L, 2L);
    }

    @Test
    void aParameterWithoutGradientIsExchangedAsZeros() {
        NDArray used = parameter(ai.djl.ndarray.types.DataType.FLOAT32);
        NDArray unused = parameter(ai.djl.ndarray.types.DataType.FLOAT64);
        try (BanyanParameterServer server = server(processes)) {
            server.init("used", new NDArray[] {used});
            server.init("unused", new NDArray[] {unused});
            backward(used);
            server.update("unused", new NDArray[] {unused});
            server.update("used", new NDArray[] {used});
        }
        assertThat(used.toFloatArray()).containsExactly(-3, -3);
        assertThat(unused.toDoubleArray()).containsExactly(-1.5, -1.5);
        assertThat(processes.types()).containsExactly(DataType.F64, DataType.F32);
    }

    @Test
    void aSparseGradientIsRefused() {
        NDArray table = manager.ones(new Shape(4, 2));
        table.setName("table");
        table.setRequiresGradient(true);
        try (GradientCollector collector = Engine.getInstance().newGradientCollector()) {
            NDArray rows = table.getNDArrayInternal()
                    .embedding(manager.create(new long[] {1, 3}), table, SparseFormat.COO)
                    .singletonOrThrow();
            collector.backward(rows.sum());
        }
        try (BanyanParameterServer server = server(processes)) {
            server.init("table", new NDArray[] {table});
            assertThatThrownBy(() -> server.update("table", new NDArray[] {table}))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage(
                            "parameter table of shape (4, 2) has a sparse gradient, which can't be exchanged; build its"
                                    + " Embedding with SparseFormat.DENSE");
        }
    }

    @Test
    void whatAFailedExchangeMayWriteToIsNotFreed() {
        NDArray weight = parameter(ai.djl.ndarray.types.DataType.FLOAT32);
        Processes failing = new FirstOfTwo() {
            @Override
            public CompletableFuture<Void> average(MemorySegment buffer, long count, DataType type) {
                return CompletableFuture.failedFuture(new IllegalStateException("the other one is gone"));
            }
        };
        try (BanyanParameterServer server = server(failing)) {
            server.init("weight", new NDArray[] {weight});
            backward(weight);
            int managed = manager.getManagedArrays().size();
            assertThatThrownBy(() -> server.update("weight", new NDArray[] {weight}))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessage("the other one is gone");
            assertThat(manager.getManagedArrays()).hasSize(managed);
        }
    }

    @Test
    void replicasEndWithTheManagerOfTheCopies() {
        Ended replicas = new Ended();
        NDManager trainers = manager.newSubManager();
        NDArray[] weights = {parameter(ai.djl.ndarray.types.DataType.FLOAT32), trainers.ones(new Shape(2))};
        weights[1].setRequiresGradient(true);
        BanyanParameterServer server = new BanyanParameterServer(sgd(), Processes.ALONE, 0, _ -> replicas);
        server.init("weight", new NDArray[] {weights[0]});
        for (NDArray weight : weights) {
            backward(weight);
        }
        server.update("weight", weights);
        assertThat(replicas.ended).isFalse();
        trainers.close();
        assertThat(replicas.ended).isTrue();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void replicasOfAProcessTakeTheSumOfTheirGradients(boolean shared) {
        NDArray[] weights = new NDArray[] {vector(), vector(), vector()};
        NDArray[] scales = new NDArray[] {scalar(), scalar(), scalar()};
        if (shared) {
            for (int replica = 1; replica < 3; replica++) {
                ReplicatedTrainer.share(weights[0], weights[replica]);
                ReplicatedTrainer.share(scales[0], scales[replica]);
            }
        }
        try (BanyanParameterServer server = BanyanParameterServer.ofReplicas(sgd(), Processes.ALONE, Config.load())) {
            server.init("weight", new NDArray[] {weights[0]});
            server.init("scale", new NDArray[] {scales[0]});
            for (int step = 0; step < 2; step++) {
                for (int replica = 0; replica < 3; replica++) {
                    backward(weights[replica]);
                    backward(scales[replica]);
                }
                backward(weights[1]);
                server.update("scale", scales);
                server.update("weight", weights);
            }
        }
        for (int replica = 0; replica < 3; replica++) {
            assertThat(weights[replica].toFloatArray()).containsExactly(-23, -23);
            assertThat(scales[replica].toFloatArray()).containsExactly(-17);
        }
    }

    /** PyTorch's sum would be 0 or 1, and the quotient of a sum that is rounded before would be another. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void replicasOfAProcessAreContributionsOfTheirOwnToReproducibleSums(boolean averages) {
        Config config = Config.builder().set(Algorithms.REPRODUCIBLE, true).build();
        NDArray[] weights = new NDArray[] {vector(), vector(), vector()};
        float[] gradients = {100_000_000, 1, -100_000_000};
        try (BanyanParameterServer server = averages
                ? BanyanParameterServer.ofReplicas(sgd(), Processes.ALONE, config)
                : new BanyanParameterServer(sgd(), Processes.ALONE, config)) {
            server.init("weight", new NDArray[] {weights[0]});
            try (GradientCollector collector = Engine.getInstance().newGradientCollector()) {
                for (int replica = 0; replica < 3; replica++) {
                    collector.backward(weights[replica].mul(gradients[replica]).sum());
                }
            }
            server.update("weight", weights);
        }
        for (NDArray weight : weights) {
            assertThat(weight.toFloatArray()).containsOnly(averages ? 1 - 1 / 3f : 0);
        }
    }

    @Test
    void gradientsThatAreNotANumberAreCleared() {
        NDArray[] weights = new NDArray[] {vector(), vector()};
        try (BanyanParameterServer server = BanyanParameterServer.ofReplicas(sgd(), Processes.ALONE, Config.load())) {
            server.init("weight", new NDArray[] {weights[0]});
            try (GradientCollector collector = Engine.getInstance().newGradientCollector()) {
                collector.backward(weights[1].mul(Float.NaN).sum());
            }
            backward(weights[0]);
            server.update("weight", weights);
        }
        assertThat(weights[1].toFloatArray()).containsExactly(Float.NaN, Float.NaN);
        assertThat(weights[1].getGradient().toFloatArray()).containsExactly(0, 0);
    }

    private NDArray vector() {
        return parameter(ai.djl.ndarray.types.DataType.FLOAT32);
    }

    private NDArray scalar() {
        NDArray scalar = manager.create(1f);
        scalar.setRequiresGradient(true);
        return scalar;
    }

    private NDArray parameter(ai.djl.ndarray.types.DataType type) {
        NDArray parameter = manager.ones(new Shape(2), type);
        parameter.setRequiresGradient(true);
        return parameter;
    }

    /** Adds 3 to the gradient's elements. */
    private static void backward(NDArray weight) {
        try (GradientCollector collector = Engine.getInstance().newGradientCollector()) {
            collector.backward(weight.mul(3).sum());
        }
    }

    private static BanyanParameterServer server(Processes processes) {
        return new BanyanParameterServer(sgd(), processes, Config.load());
    }

    /** Subtracts the gradient. */
    private static Optimizer sgd() {
        return Optimizer.sgd().setLearningRateTracker(Tracker.fixed(1)).build();
    }

    private static final class Ended implements Replicas {
        private boolean ended;

        @Override
        public int size() {
            return 2;
        }

        @Override
        public void sum(List<Slot> slots) {}

        @Override
        public void spread(List<Slot> slots) {}

        @Override
        public void close() {
            ended = true;
        }
    }
}
