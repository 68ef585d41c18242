package dev.banyan.djl;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.pytorch.engine.PtEngine;
import ai.djl.pytorch.engine.PtEngineProvider;
import ai.djl.training.GradientCollector;
import ai.djl.training.LocalParameterServer;
import ai.djl.training.optimizer.Optimizer;
import dev.banyan.djl.internal.data.DjlInternals;
import dev.banyan.djl.internal.engine.BanyanEngine;
import dev.banyan.djl.internal.torch.HostArray;
import dev.banyan.djl.internal.torch.TorchMemory;
import java.lang.foreign.ValueLayout;
import java.util.Objects;
import org.junit.jupiter.api.Test;

class BanyanEngineTest {
    /** The real provider stands before this one on no class path where both are jars, so it is put there by hand. */
    @Test
    void takesThePlaceOfTheRealEngineWhateverTheOrder() {
        Engine first = Engine.getEngine("PyTorch");
        assertThat(first).isInstanceOf(BanyanEngine.class);
        DjlInternals.register(new PtEngineProvider());
        assertThat(Engine.getEngine("PyTorch")).isInstanceOf(PtEngine.class);
        Engine.registerEngine(new BanyanEngineProvider());
        assertThat(Engine.getEngine("PyTorch")).isSameAs(first);
        DjlInternals.register(new PtEngineProvider());
        Banyan.install();
        assertThat(Engine.getEngine("PyTorch")).isSameAs(first);
    }

    @Test
    void isTheRealEngineInAllElse() {
        Engine engine = Engine.getInstance();
        Engine real = new PtEngineProvider().getEngine();
        assertThat(engine.getEngineName()).isEqualTo("PyTorch");
        assertThat(engine.getRank()).isEqualTo(real.getRank());
        assertThat(engine.getVersion()).isEqualTo(real.getVersion());
        assertThat(engine.getDevices()).isEqualTo(real.getDevices());
        assertThat(engine.defaultDevice()).isEqualTo(real.defaultDevice());
        assertThat(engine).hasToString(real.toString());
        engine.setRandomSeed(11);
        assertThat(real.getSeed()).isEqualTo(11);
    }

    @Test
    void oneProcessTrainsInDjlsOwnWay() {
        assertThat(Engine.getInstance().newParameterServer(Optimizer.adam().build()))
                .isInstanceOf(LocalParameterServer.class);
        assertThat(Banyan.size()).isEqualTo(1);
        assertThat(Banyan.rank()).isZero();
    }

    @Test
    void arraysAreReachedWhereTheyLie() {
        try (NDManager manager = Engine.getInstance().newBaseManager()) {
            NDArray array = manager.arange(6f).reshape(2, 3);
            Objects.requireNonNull(TorchMemory.of(array, 24)).set(ValueLayout.JAVA_FLOAT, 4, 9f);
            assertThat(array.toFloatArray()).containsExactly(0, 9, 2, 3, 4, 5);
            assertThat(TorchMemory.of(array.transpose(), 24)).isNull();
        }
    }

    @Test
    void arraysThatDontLieRowByRowAreCopied() {
        try (NDManager manager = Engine.getInstance().newBaseManager()) {
            NDArray array = manager.zeros(new Shape(3, 2)).transpose();
            HostArray copy = HostArray.of(array);
            copy.memory().set(ValueLayout.JAVA_FLOAT, 4, 7f);
            copy.writeBack();
            assertThat(array.toFloatArray()).containsExactly(0, 7, 0, 0, 0, 0);
        }
    }

    /** A gradient outlives the object that returned it, and so must its memory. */
    @Test
    void copiesAreWrittenBackIntoTheArraysOwnMemory() {
        try (NDManager manager = Engine.getInstance().newBaseManager()) {
            NDArray whole = manager.zeros(new Shape(3, 2));
            NDArray array = whole.transpose();
            array.setRequiresGradient(true);
            HostArray copy = HostArray.of(array);
            copy.memory().set(ValueLayout.JAVA_FLOAT, 4, 7f);
            try (GradientCollector collector = Engine.getInstance().newGradientCollector()) {
                copy.writeBack();
                collector.backward(array.sum());
            }
            assertThat(whole.toFloatArray()).containsExactly(0, 0, 7, 0, 0, 0);
        }
    }
}
