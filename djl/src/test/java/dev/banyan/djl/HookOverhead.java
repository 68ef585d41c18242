package dev.banyan.djl;

import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.engine.EngineProvider;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Activation;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Linear;
import ai.djl.pytorch.engine.PtEngineProvider;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.EasyTrain;
import ai.djl.training.Trainer;
import ai.djl.training.dataset.ArrayDataset;
import ai.djl.training.dataset.Batch;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;
import dev.banyan.djl.internal.data.DjlInternals;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;

/**
 * Measures the cost of Banyan's engine in a step of one process on one device: trains a perceptron of 20 layers by
 * DJL's engine and by Banyan's, by turns in one JVM, and prints medians. Which of the two goes first changes from round
 * to round, and the ratio is that of neighbours, so that a machine that drifts does it to both. Times are the
 * processor's for the thread that trains, which does all of the work, so that what else runs on the machine counts
 * little.
 *
 * <pre>{@code
 * mvn -q -DskipTests -pl examples/djl-mnist -am package
 * java --enable-native-access=ALL-UNNAMED -Dai.djl.offline=true -Dai.djl.pytorch.num_threads=1 \
 *     -cp "djl/target/test-classes:examples/djl-mnist/target/lib/*" dev.banyan.djl.HookOverhead
 * }</pre>
 */
final class HookOverhead {
    private static final int LAYERS = 20;
    private static final int UNITS = 128;
    private static final int BATCH = 32;
    private static final int WARMUP_ROUNDS = 20;
    private static final int ROUNDS = 400;
    private static final int STEPS = 20;
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private HookOverhead() {}

    /** Prints us per step. */
    public static void main(String[] arguments) throws Exception {
        List<EngineProvider> providers = List.of(new PtEngineProvider(), new BanyanEngineProvider());
        List<Contestant> contestants = new ArrayList<>();
        for (EngineProvider provider : providers) {
            contestants.add(new Contestant(provider));
        }
        List<List<Double>> times = List.of(new ArrayList<>(), new ArrayList<>());
        List<Double> ratios = new ArrayList<>();
        for (int round = -WARMUP_ROUNDS; round < ROUNDS; round++) {
            double[] us = new double[2];
            for (int turn = 0; turn < 2; turn++) {
                int who = (round + turn) & 1;
                us[who] = contestants.get(who).round();
            }
            if (round >= 0) {
                times.get(0).add(us[0]);
                times.get(1).add(us[1]);
                ratios.add(us[1] / us[0]);
            }
        }
        print("DJL's engine, us per step", times.get(0));
        print("Banyan's engine, us per step", times.get(1));
        print("ratio of neighbours", ratios);
    }

    private static void print(String what, List<Double> values) {
        Collections.sort(values);
        int n = values.size();
        System.out.printf(
                Locale.ROOT,
                "%-28s  median %.4f, quartiles %.4f to %.4f, of %d rounds of %d steps%n",
                what,
                values.get(n / 2),
                values.get(n / 4),
                values.get(3 * n / 4),
                n,
                STEPS);
    }

    /** A trainer of one of the engines. */
    private static final class Contestant {
        private final EngineProvider provider;
        private final Trainer trainer;
        private final ArrayDataset dataset;

        Contestant(EngineProvider provider) {
            this.provider = provider;
            DjlInternals.register(provider);
            Engine.getInstance().setRandomSeed(1);
            Model model = Model.newInstance("perceptron");
            SequentialBlock block = new SequentialBlock();
            for (int layer = 1; layer < LAYERS; layer++) {
                block.add(Linear.builder().setUnits(UNITS).build()).add(Activation::relu);
            }
            model.setBlock(block.add(Linear.builder().setUnits(10).build()));
            trainer = model.newTrainer(new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss())
                    .optOptimizer(Optimizer.sgd()
                            .setLearningRateTracker(Tracker.fixed(0.01f))
                            .build()));
            trainer.initialize(new Shape(BATCH, UNITS));
            NDManager manager = trainer.getManager();
            dataset = new ArrayDataset.Builder()
                    .setData(manager.randomNormal(new Shape((long) STEPS * BATCH, UNITS)))
                    .optLabels(manager.randomUniform(0, 9, new Shape((long) STEPS * BATCH))
                            .floor())
                    .setSampling(BATCH, false)
                    .build();
        }

        /** us per step. */
        double round() throws Exception {
            DjlInternals.register(provider);
            long begin = THREADS.getCurrentThreadCpuTime();
            for (Batch batch : trainer.iterateDataset(dataset)) {
                EasyTrain.trainBatch(trainer, batch);
                trainer.step();
                batch.close();
            }
            return (THREADS.getCurrentThreadCpuTime() - begin) / 1e3 / STEPS;
        }
    }
}
