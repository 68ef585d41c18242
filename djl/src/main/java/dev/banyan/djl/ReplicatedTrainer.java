package dev.banyan.djl;

import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.training.GradientCollector;
import ai.djl.training.ParameterStore;
import ai.djl.training.TrainingConfig;
import ai.djl.training.dataset.Batch;
import ai.djl.training.loss.Loss;
import dev.banyan.config.Config;
import dev.banyan.djl.internal.data.Rows;
import dev.banyan.djl.internal.processes.Launch;
import dev.banyan.djl.internal.server.BanyanParameterServer;
import dev.banyan.schedule.plan.Algorithms;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.IntStream;

/**
 * Trains several replicas of a model in one process on the CPU, as DJL does on several GPUs. It is for trying data
 * parallelism without GPUs, as DJL has only one CPU device. Each batch is cut into equal parts, one for each replica.
 * Gradients are averaged, so that a step equals that of the whole batch. If mpirun starts several processes, the
 * replicas of all train together, and each process takes its part of every batch from {@link Banyan#shard}. With
 * BANYAN_REPRODUCIBLE=1 the parameters do not depend on the processes that have the replicas.
 *
 * <p>The first replica is the model's own block, which can be saved or used for predictions after the training. Its
 * parameters are also those of the other replicas, in the same memory; only what no gradient changes, such as running
 * statistics, is each replica's own. Not safe for use from several threads.
 */
public final class ReplicatedTrainer implements AutoCloseable {
    private final Model model;
    private final Loss loss;
    private final BanyanParameterServer server;
    /** True if the server averages gradients; otherwise it sums those of this process's replicas. */
    private final boolean reproducible;

    private final List<Block> replicas;
    /** The stores from which the forward passes of the replicas take their parameters. */
    private final List<ParameterStore> stores;

    /**
     * @param model the model, whose block is the first replica
     * @param architecture creates the blocks of the other replicas, which may differ only in their weights
     * @param config the settings, of which only loss, optimiser and initialisers are used
     * @param replicas the number of replicas, at least 1
     */
    public ReplicatedTrainer(Model model, Supplier<Block> architecture, TrainingConfig config, int replicas) {
        if (replicas < 1) {
            throw new IllegalArgumentException(replicas + " replicas; at least one is needed");
        }
        this.model = model;
        loss = config.getLossFunction();
        Config settings = Config.load();
        reproducible = settings.get(Algorithms.REPRODUCIBLE);
        server = BanyanParameterServer.ofReplicas(config.getOptimizer(), Launch.PROCESSES, settings);
        this.replicas = new ArrayList<>(List.of(model.getBlock()));
        for (int i = 1; i < replicas; i++) {
            this.replicas.add(architecture.get());
        }
        stores = IntStream.range(0, replicas)
                .mapToObj(i -> new ParameterStore(model.getNDManager(), false))
                .toList();
        config.getInitializers().forEach(pair -> model.getBlock().setInitializer(pair.getKey(), pair.getValue()));
    }

    /**
     * Initializes the parameters, to the same values on all replicas.
     *
     * @param shapes the shapes of the inputs
     * @throws IllegalArgumentException if the replicas' parameters have different shapes
     */
    public void initialize(Shape... shapes) {
        for (Block replica : replicas) {
            replica.initialize(model.getNDManager(), DataType.FLOAT32, shapes);
        }
        List<List<Parameter>> parameters = parameters();
        List<Parameter> first = parameters.getFirst();
        for (int p = 0; p < first.size(); p++) {
            NDArray original = first.get(p).getArray();
            boolean trained = first.get(p).requiresGradient();
            if (trained) {
                own(original);
            }
            server.init(first.get(p).getId(), new NDArray[] {original});
            for (List<Parameter> others : parameters.subList(1, parameters.size())) {
                NDArray copy = others.get(p).getArray();
                if (!copy.getShape().equals(original.getShape())) {
                    throw new IllegalArgumentException(
                            "parameter " + first.get(p).getName() + " has shape "
                                    + original.getShape() + " in one replica and " + copy.getShape()
                                    + " in another; let all blocks be made alike");
                }
                if (trained
                        && copy.getDataType() == original.getDataType()
                        && copy.getDevice().equals(original.getDevice())) {
                    share(original, copy);
                } else {
                    original.copyTo(copy);
                }
            }
        }
    }

    /** Lets a copy of the same type on the same device be in the original's memory, with a gradient of its own. */
    static void share(NDArray original, NDArray copy) {
        replace(copy, original.stopGradient());
    }

    /** Puts an array into memory of PyTorch's: that of a loaded one may belong to a buffer, which it alone holds. */
    private static void own(NDArray array) {
        try (NDArray values = array.stopGradient()) {
            replace(array, values.duplicate());
        }
    }

    private static void replace(NDArray array, NDArray values) {
        boolean gradient = array.hasGradient();
        array.intern(values);
        array.setRequiresGradient(gradient);
    }

    /**
     * Runs one training step.
     *
     * @param batch this process's part, at least as many samples as it has replicas; a remainder that cannot be divided is left out
     * @return the mean loss over this process's part of the batch before the step
     */
    public float step(Batch batch) {
        int part = batch.getSize() / replicas.size();
        if (part == 0) {
            throw new IllegalArgumentException("a batch of " + batch.getSize() + " samples for " + replicas.size()
                    + " replicas; give each at least one");
        }
        float sum = 0;
        try (GradientCollector collector = model.getNDManager().getEngine().newGradientCollector()) {
            for (int i = 0; i < replicas.size(); i++) {
                NDList labels = Rows.of(batch.getLabels(), (long) i * part, part);
                NDList data = Rows.of(batch.getData(), (long) i * part, part);
                NDList predictions = replicas.get(i).forward(stores.get(i), data, labels, null);
                NDArray value = loss.evaluate(labels, predictions);
                sum += value.sum().getFloat();
                collector.backward(reproducible ? value : value.div(replicas.size()));
            }
        }
        List<List<Parameter>> parameters = parameters();
        List<Parameter> first = parameters.getFirst();
        for (int p = 0; p < first.size(); p++) {
            if (first.get(p).requiresGradient()) {
                server.update(first.get(p).getId(), arrays(parameters, p));
            }
        }
        return sum / replicas.size();
    }

    /** Returns the parameters of each replica. Each call is expensive, as blocks build this list anew. */
    private List<List<Parameter>> parameters() {
        return replicas.stream()
                .map(replica -> replica.getParameters().values())
                .toList();
    }

    /** Returns the arrays of one parameter, one of each replica. */
    private static NDArray[] arrays(List<List<Parameter>> parameters, int parameter) {
        return parameters.stream()
                .map(replica -> replica.get(parameter).getArray())
                .toArray(NDArray[]::new);
    }

    /** Closes the parameter server. The model stays open. */
    @Override
    public void close() {
        server.close();
    }
}
