package dev.banyan.djl.internal.engine;

import ai.djl.Device;
import ai.djl.MalformedModelException;
import ai.djl.Model;
import ai.djl.inference.Predictor;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.Trainer;
import ai.djl.training.TrainingConfig;
import ai.djl.translate.Translator;
import ai.djl.util.PairList;
import dev.banyan.djl.internal.processes.Processes;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.net.URL;
import java.nio.file.Path;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** A model of the engine whose trainers train together with those of the other processes. */
final class ParallelModel implements Model {
    private final Model own;
    private final Processes processes;
    private boolean loaded;
    /** The folder of the last save; null if it was not saved since it was loaded. */
    private @Nullable Path saved;

    ParallelModel(Model own, Processes processes) {
        this.own = own;
        this.processes = processes;
    }

    /** Does what the engine's own model does, as that model cannot create another kind of trainer. */
    @Override
    public Trainer newTrainer(TrainingConfig config) {
        Block block = own.getBlock();
        if (block == null) {
            throw new IllegalStateException("You must set a block for the model before creating a new trainer");
        }
        if (loaded) {
            block.freezeParameters(false, parameter -> !RunningStatistics.holds(parameter));
        }
        config.getInitializers().forEach(pair -> {
            if (pair.getKey() != null && pair.getValue() != null) {
                block.setInitializer(pair.getKey(), pair.getValue());
            }
        });
        return new ParallelTrainer(this, config, processes);
    }

    /**
     * Reads the model when the first process has called this method, too, and so has saved before. All processes call
     * it.
     */
    @Override
    public void load(Path modelPath, @Nullable String prefix, @Nullable Map<String, ?> options)
            throws IOException, MalformedModelException {
        waitForFirst();
        own.load(modelPath, prefix, options);
        loaded = true;
        saved = null;
    }

    /** Returns when the first process has called this method, too. */
    private void waitForFirst() {
        processes.broadcast(Arena.ofAuto().allocate(ValueLayout.JAVA_BYTE), 1, dev.banyan.schedule.type.DataType.I8);
    }

    @Override
    public void load(InputStream stream, @Nullable Map<String, ?> options) throws IOException, MalformedModelException {
        own.load(stream, options);
        loaded = true;
    }

    @Override
    public void setBlock(Block block) {
        own.setBlock(block);
        loaded = false;
    }

    /**
     * Saves the model in the first process alone, as it is the same in all. The others do not wait, as a program that
     * fails may save the model in one process only; {@link #load(Path, String, Map)} waits for the files.
     */
    @Override
    public void save(Path modelPath, String newModelName) throws IOException {
        if (processes.rank() == 0) {
            own.save(modelPath, newModelName);
        }
        saved = modelPath.toAbsolutePath();
    }

    @Override
    public Path getModelPath() {
        return saved == null ? own.getModelPath() : saved;
    }

    @Override
    public Block getBlock() {
        return own.getBlock();
    }

    @Override
    public String getName() {
        return own.getName();
    }

    @Override
    public Map<String, String> getProperties() {
        return own.getProperties();
    }

    @Override
    public String getProperty(String key) {
        return own.getProperty(key);
    }

    @Override
    public void setProperty(String key, String value) {
        own.setProperty(key, value);
    }

    @Override
    public NDManager getNDManager() {
        return own.getNDManager();
    }

    @Override
    public <I, O> Predictor<I, O> newPredictor(Translator<I, O> translator, Device device) {
        return own.newPredictor(translator, device);
    }

    @Override
    public PairList<String, Shape> describeInput() {
        return own.describeInput();
    }

    @Override
    public PairList<String, Shape> describeOutput() {
        return own.describeOutput();
    }

    @Override
    public String[] getArtifactNames() {
        return own.getArtifactNames();
    }

    @Override
    public <T> T getArtifact(String name, Function<InputStream, T> function) throws IOException {
        return own.getArtifact(name, function);
    }

    @Override
    public URL getArtifact(String name) throws IOException {
        return own.getArtifact(name);
    }

    @Override
    public InputStream getArtifactAsStream(String name) throws IOException {
        return own.getArtifactAsStream(name);
    }

    @Override
    public void setDataType(DataType dataType) {
        own.setDataType(dataType);
    }

    @Override
    public DataType getDataType() {
        return own.getDataType();
    }

    @Override
    public void cast(DataType dataType) {
        own.cast(dataType);
    }

    @Override
    public void quantize() {
        own.quantize();
    }

    @Override
    public void close() {
        own.close();
    }
}
