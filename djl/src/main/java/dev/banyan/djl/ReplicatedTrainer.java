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
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.IntStream;

/**
 * Trains several replicas of a model in one process, on the CPU, as DJL does on several GPUs; for trying data
 * parallelism where there is none, as DJL has only one device of the CPU. Each batch is cut into equal parts, one for
 * each replica; gradients are summed up and scaled so that a step is that of the whole batch.
 *
 * <p>The first replica is the model's own block, which can be saved or used for predictions when the training has
 * ended. Not safe for use from several threads.
 */
public final class ReplicatedTrainer implements AutoCloseable {
    private final Model model;
    private final Loss loss;
    private final BanyanParameterServer server;
    private final List<Block> replicas;
    /** Where the forward pass finds a replica's parameters. */
    private final List<ParameterStore> stores;

    /**
     * @param model whose block is the first replica
     * @param architecture makes the blocks of the others, alike but for their weights
     * @param config loss, optimiser and initialisers are used; the rest isn't
     * @param replicas at least 1
     */
    public ReplicatedTrainer(Model model, Supplier<Block> architecture, TrainingConfig config, int replicas) {
        if (replicas < 1) {
            throw new IllegalArgumentException(replicas + " replicas; at least one is needed");
        }
        this.model = model;
        loss = config.getLossFunction();
        server = new BanyanParameterServer(config.getOptimizer());
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
     * Makes the parameters, alike on all replicas.
     *
     * @param shapes of the inputs
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
            for (NDArray copy : arrays(parameters, p)) {
                if (!copy.getShape().equals(original.getShape())) {
                    throw new IllegalArgumentException(
                            "parameter " + first.get(p).getName() + " has shape "
                                    + original.getShape() + " in one replica and " + copy.getShape()
                                    + " in another; let all blocks be made alike");
                }
                original.copyTo(copy);
            }
            server.init(first.get(p).getId(), new NDArray[] {original});
        }
    }

    /**
     * Does one step.
     *
     * @param batch of at least as many samples as there are replicas; a rest that can't be divided is left out
     * @return the mean loss over the batch, before the step
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
                collector.backward(value.div(replicas.size()));
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

    /** Of each replica; blocks put this list together anew whenever they are asked. */
    private List<List<Parameter>> parameters() {
        return replicas.stream()
                .map(replica -> replica.getParameters().values())
                .toList();
    }

    /** One parameter of all replicas. */
    private static NDArray[] arrays(List<List<Parameter>> parameters, int parameter) {
        return parameters.stream()
                .map(replica -> replica.get(parameter).getArray())
                .toArray(NDArray[]::new);
    }

    /** Ends the threads and frees the memory of the exchange; the model stays open. */
    @Override
    public void close() {
        server.close();
    }
}
