package dev.banyan.examples;

import dev.banyan.config.Config;
import dev.banyan.kvstore.KVStore;
import dev.banyan.kvstore.Key;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.optimizer.Optimizer;
import dev.banyan.schedule.type.DataType;
import dev.banyan.topology.Machine;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;

/**
 * Trains a small network on virtual devices, each with its part of every batch, and prints the loss. The devices
 * push their gradients; the store sums them up, takes a step with momentum, and hands the new weights out.
 *
 * <pre>
 * mvn -q -DskipTests package
 * java -cp 'examples/target/classes:...' dev.banyan.examples.TrainOnFourDevices
 * </pre>
 */
public final class TrainOnFourDevices {
    private static final int BATCH = 64;

    private TrainOnFourDevices() {}

    /** Prints the loss of every twentieth of 200 steps. */
    public static void main(String[] arguments) {
        double[] losses = train(4, 200);
        for (int step = 0; step < losses.length; step += 20) {
            System.out.printf("step %3d  loss %.6f%n", step, losses[step]);
        }
        System.out.printf("step %3d  loss %.6f%n", losses.length - 1, losses[losses.length - 1]);
    }

    /**
     * Trains from the same first weights on the same batches, whatever the number of devices.
     *
     * @param devices 1, 2, 4 or 8
     * @return the mean loss of each step's batch
     */
    static double[] train(int devices, int steps) {
        Machine machine =
                Machine.preset("p3.16xlarge").subset(IntStream.range(0, devices).toArray());
        double[] losses = new double[steps];
        try (Communicator ranks = Communicator.onHost(machine, Config.load());
                KVStore store = KVStore.builder(ranks)
                        .optimizer(Optimizer.sgd(0.05).momentum(0.9).gradientFactor(1.0 / BATCH))
                        .open()) {
            MemorySegment[][] weights = arrays(ranks);
            MemorySegment[][] gradients = arrays(ranks);
            Random random = new Random(42);
            int layers = TwoLayerNetwork.SIZES.length;
            for (int layer = 0; layer < layers; layer++) {
                double[] first =
                        random.doubles(TwoLayerNetwork.SIZES[layer], -0.7, 0.7).toArray();
                store.init(Key.of(layer), MemorySegment.ofArray(first), first.length, DataType.F64);
                store.pull(Key.of(layer), ofAllRanks(weights, layer)).join();
            }
            for (int step = 0; step < steps; step++) {
                double[][] batch = batch(random);
                losses[step] = IntStream.range(0, devices)
                                .parallel()
                                .mapToDouble(rank -> TwoLayerNetwork.backward(
                                        weights[rank],
                                        gradients[rank],
                                        batch,
                                        BATCH * rank / devices,
                                        BATCH * (rank + 1) / devices))
                                .boxed()
                                .toList()
                                .stream()
                                .mapToDouble(Double::doubleValue)
                                .sum()
                        / BATCH;
                // The last layer's gradients are there first; the first layer's weights are wanted first.
                List<CompletableFuture<Void>> pending = new ArrayList<>();
                for (int layer = layers - 1; layer >= 0; layer--) {
                    pending.add(store.pushPull(
                            Key.of(layer), ofAllRanks(gradients, layer), ofAllRanks(weights, layer), -layer));
                }
                pending.forEach(CompletableFuture::join);
            }
        }
        return losses;
    }

    /** For each rank and layer. */
    private static MemorySegment[][] arrays(Communicator ranks) {
        MemorySegment[][] arrays = new MemorySegment[ranks.size()][TwoLayerNetwork.SIZES.length];
        for (int rank = 0; rank < arrays.length; rank++) {
            for (int layer = 0; layer < arrays[rank].length; layer++) {
                arrays[rank][layer] = ranks.allocate(rank, Double.BYTES * (long) TwoLayerNetwork.SIZES[layer]);
            }
        }
        return arrays;
    }

    private static List<MemorySegment> ofAllRanks(MemorySegment[][] arrays, int layer) {
        return IntStream.range(0, arrays.length)
                .mapToObj(rank -> arrays[rank][layer])
                .toList();
    }

    /** Points of a square, and the wave to be learned there. */
    private static double[][] batch(Random random) {
        double[][] samples = new double[BATCH][];
        for (int s = 0; s < BATCH; s++) {
            double x = random.nextDouble(-2, 2);
            double y = random.nextDouble(-2, 2);
            samples[s] = new double[] {x, y, Math.sin(x) * Math.cos(y)};
        }
        return samples;
    }
}
