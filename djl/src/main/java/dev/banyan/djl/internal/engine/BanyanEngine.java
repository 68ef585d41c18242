package dev.banyan.djl.internal.engine;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDManager;
import ai.djl.nn.SymbolBlock;
import ai.djl.training.GradientCollector;
import ai.djl.training.ParameterServer;
import ai.djl.training.optimizer.Optimizer;
import dev.banyan.config.Config;
import dev.banyan.djl.internal.processes.Processes;
import dev.banyan.djl.internal.server.BanyanParameterServer;
import dev.banyan.djl.internal.server.GpuParameterServer;
import dev.banyan.djl.internal.server.GpuReplicas;
import dev.banyan.kvstore.StoreSettings;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The PyTorch engine with another parameter server and, with several processes, other trainers. */
public final class BanyanEngine extends Engine {
    private static final Logger LOG = LoggerFactory.getLogger(BanyanEngine.class);

    private final Engine real;
    private final Processes processes;
    /** True if a message has said that Banyan has nothing to do. */
    private final AtomicBoolean logged = new AtomicBoolean();

    public BanyanEngine(Engine real, Processes processes) {
        this.real = real;
        this.processes = processes;
    }

    @Override
    public ParameterServer newParameterServer(Optimizer optimizer) {
        if (processes.size() > 1) {
            return new BanyanParameterServer(optimizer, processes, Config.load());
        }
        ParameterServer own = real.newParameterServer(optimizer);
        if (real.getGpuCount() > 1) {
            Config config = Config.load();
            return new GpuParameterServer(
                    optimizer,
                    own,
                    config.get(StoreSettings.BUCKET_BYTES),
                    devices -> GpuReplicas.start(devices, config));
        }
        if (logged.compareAndSet(false, true)) {
            LOG.info("one process and one device: DJL trains without Banyan");
        }
        return own;
    }

    @Override
    public Model newModel(String name, @Nullable Device device) {
        Model model = real.newModel(name, device);
        return processes.size() > 1 ? new ParallelModel(model, processes) : model;
    }

    @Override
    public @Nullable Engine getAlternativeEngine() {
        return real.getAlternativeEngine();
    }

    @Override
    public String getEngineName() {
        return real.getEngineName();
    }

    @Override
    public int getRank() {
        return real.getRank();
    }

    @Override
    public String getVersion() {
        return real.getVersion();
    }

    @Override
    public boolean hasCapability(String capability) {
        return real.hasCapability(capability);
    }

    @Override
    public Device defaultDevice() {
        return real.defaultDevice();
    }

    @Override
    public Device[] getDevices() {
        return real.getDevices();
    }

    @Override
    public Device[] getDevices(int maxGpus) {
        return real.getDevices(maxGpus);
    }

    @Override
    public int getGpuCount() {
        return real.getGpuCount();
    }

    @Override
    public SymbolBlock newSymbolBlock(NDManager manager) {
        return real.newSymbolBlock(manager);
    }

    @Override
    public NDManager newBaseManager() {
        return real.newBaseManager();
    }

    @Override
    public NDManager newBaseManager(Device device) {
        return real.newBaseManager(device);
    }

    @Override
    public GradientCollector newGradientCollector() {
        return real.newGradientCollector();
    }

    @Override
    public void setRandomSeed(int seed) {
        real.setRandomSeed(seed);
    }

    @Override
    public Integer getSeed() {
        return real.getSeed();
    }

    @Override
    public String toString() {
        return real.toString();
    }
}
