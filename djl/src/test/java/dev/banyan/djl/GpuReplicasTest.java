package dev.banyan.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterServer;
import ai.djl.training.optimizer.Optimizer;
import dev.banyan.config.Config;
import dev.banyan.cuda.emulator.CudaEmulator;
import dev.banyan.djl.internal.server.GpuParameterServer;
import dev.banyan.djl.internal.server.GpuReplicas;
import dev.banyan.test.TestProcess;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Several GPUs in one process. */
class GpuReplicasTest {
    @RegisterExtension
    private final dev.banyan.test.Processes processes = new dev.banyan.test.Processes();

    @Test
    void gradientsAreSummedUpWhereTheyLie() throws Exception {
        ProcessBuilder builder = new ProcessBuilder(Jvm.command(List.of(), GpuProgram.class));
        builder.environment().put("LD_LIBRARY_PATH", CudaEmulator.build().toString());
        TestProcess run = processes.start(builder);
        assertThat(run.await()).isZero();
        assertThat(run.lastLine()).isEqualTo("passed");
    }

    @Test
    void djlsOwnServerTakesOverWhereGpusCantBeUsed() {
        try (NDManager manager = Engine.getInstance().newBaseManager()) {
            Recorder own = new Recorder();
            NDArray[] replicas = {manager.ones(new Shape(2)), manager.ones(new Shape(2))};
            List<List<Device>> started = new ArrayList<>();
            try (ParameterServer server =
                    new GpuParameterServer(Optimizer.adam().build(), own, 0, devices -> {
                        started.add(devices);
                        throw new IllegalStateException("there is no driver");
                    })) {
                server.init("weight", replicas);
                server.update("weight", replicas, replicas);
                server.update("weight", replicas, replicas);
            }
            assertThat(started).containsExactly(List.of(Device.cpu(), Device.cpu()));
            assertThat(own.calls).containsExactly("init weight", "update weight", "update weight", "close");
        }
    }

    @Test
    void oneReplicaIsNoneOfOurBusiness() {
        try (NDManager manager = Engine.getInstance().newBaseManager()) {
            Recorder own = new Recorder();
            NDArray[] alone = {manager.ones(new Shape(2))};
            try (ParameterServer server =
                    new GpuParameterServer(Optimizer.adam().build(), own, 0, devices -> {
                        throw new AssertionError("started on " + devices);
                    })) {
                server.init("weight", alone);
                server.update("weight", alone, alone);
            }
            assertThat(own.calls).containsExactly("init weight", "update weight", "close");
        }
    }

    @Test
    void replicasOfOneDeviceAreNotStarted() {
        assertThatThrownBy(() -> GpuReplicas.start(List.of(Device.gpu(0), Device.gpu(0)), Config.load()))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("the replicas are not on GPUs of their own");
    }

    /** Writes down what it is asked for. */
    private static final class Recorder implements ParameterServer {
        private final List<String> calls = new ArrayList<>();

        @Override
        public void init(String parameterId, NDArray[] value) {
            calls.add("init " + parameterId);
        }

        @Override
        public void update(String parameterId, NDArray[] grads, NDArray[] params) {
            calls.add("update " + parameterId);
        }

        @Override
        public void close() {
            calls.add("close");
        }
    }
}
