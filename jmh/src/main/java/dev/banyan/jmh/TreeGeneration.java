package dev.banyan.jmh;

import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.Machine;
import dev.banyan.trees.Forest;
import dev.banyan.trees.ForestGenerator;
import dev.banyan.trees.Tree;
import dev.banyan.trees.balanced.Exact;
import dev.banyan.trees.balanced.Exhaustive;
import dev.banyan.trees.balanced.KernighanLin;
import dev.banyan.trees.balanced.Shallow;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Measures how long the trees of a machine take, one from every root, with penalty 0.7. The machines are p3.16xlarge
 * and random machines on which all pairs have one or two NVLinks.
 *
 * <p>The baseline only creates the tree objects, stars with the same roots. No generator can be faster than that.
 *
 * <pre>java -jar jmh/target/benchmarks.jar TreeGeneration</pre>
 *
 * The time of one tree of 16 devices:
 *
 * <pre>java -jar jmh/target/benchmarks.jar TreeGeneration.oneRoot -p machine=dense-16</pre>
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(2)
public class TreeGeneration {
    private static final String DENSE = "dense-";

    /** A preset, or {@code dense-} and a number of devices. */
    @Param({"p3.16xlarge", "dense-4", "dense-8", "dense-12", "dense-16"})
    String machine = "p3.16xlarge";

    private final ForestGenerator exact = new Exact();
    private final ForestGenerator kernighanLin = new KernighanLin();
    private final ForestGenerator exhaustive = new Exhaustive();
    private final ForestGenerator shallow = new Shallow();
    private LinkMatrix matrix = new LinkMatrix(new int[0][0], new double[0][0]);
    private int[] roots = {};

    /** Builds the machine. */
    @Setup
    public void prepare() {
        matrix = machine.startsWith(DENSE)
                ? dense(Integer.parseInt(machine.substring(DENSE.length())))
                : LinkMatrix.of(Machine.preset(machine));
        roots = new int[matrix.size()];
        Arrays.setAll(roots, root -> root);
    }

    private static LinkMatrix dense(int n) {
        Random random = new Random(n);
        int[][] classes = new int[n][n];
        double[][] gbs = new double[n][n];
        for (int a = 0; a < n; a++) {
            for (int b = 0; b < a; b++) {
                int lanes = 1 + random.nextInt(2);
                classes[a][b] = lanes == 1 ? LinkMatrix.NVLINK : LinkMatrix.NVLINKS;
                classes[b][a] = classes[a][b];
                gbs[a][b] = 25 * lanes;
                gbs[b][a] = gbs[a][b];
            }
        }
        return new LinkMatrix(classes, gbs);
    }

    @Benchmark
    public Forest baseline() {
        List<Tree> trees = new ArrayList<>(roots.length);
        for (int root : roots) {
            int[] parents = new int[roots.length];
            Arrays.fill(parents, root);
            parents[root] = -1;
            trees.add(Tree.ofParents(parents));
        }
        return Forest.equalShares(trees);
    }

    @Benchmark
    public Forest exact() {
        return exact.generate(matrix, roots);
    }

    @Benchmark
    public Forest oneRoot() {
        return exact.generate(matrix, 0);
    }

    @Benchmark
    public Forest kernighanLin() {
        return kernighanLin.generate(matrix, roots);
    }

    @Benchmark
    public Forest exhaustive() {
        return exhaustive.generate(matrix, roots);
    }

    @Benchmark
    public Forest shallow() {
        return shallow.generate(matrix, roots);
    }
}
