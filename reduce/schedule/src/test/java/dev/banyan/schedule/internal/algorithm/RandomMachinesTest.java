package dev.banyan.schedule.internal.algorithm;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.schedule.ScheduleProof;
import dev.banyan.schedule.ScheduleVerifier;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.trees.Forest;
import dev.banyan.trees.Tree;
import dev.banyan.trees.balanced.KernighanLin;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** On random machines of 2 to 16 devices, of any connectivity, every algorithm's schedule passes the verifier. */
class RandomMachinesTest {
    @Test
    void anyTrees() {
        anyTreesOn(500);
    }

    @Test
    @Tag("soak")
    void anyTreesOnTenThousandMachines() {
        anyTreesOn(10_000);
    }

    private static void anyTreesOn(int machines) {
        IntStream.range(0, machines).parallel().forEach(machine -> {
            Random random = random(machine);
            LinkMatrix matrix = connected(2 + random.nextInt(15), random);
            verifyAll(
                    matrix,
                    roots(matrix)
                            .mapToObj(root -> spanningTree(matrix, root, random))
                            .toList(),
                    random);
        });
    }

    @Test
    void generatedTrees() {
        generatedTreesOn(200, 8);
        generatedTreesOn(10, 16);
    }

    @Test
    @Tag("soak")
    void generatedTreesOnTenThousandMachines() {
        generatedTreesOn(10_000, 16);
    }

    private static void generatedTreesOn(int machines, int mostDevices) {
        IntStream.range(0, machines).parallel().forEach(machine -> {
            Random random = random(machine);
            LinkMatrix matrix = connected(2 + random.nextInt(mostDevices - 1), random);
            Forest forest = new KernighanLin().generate(matrix, roots(matrix).toArray());
            verifyAll(matrix, forest.trees(), random);
        });
    }

    /** Generators of successive seeds would begin alike. */
    private static Random random(int machine) {
        return new Random(machine * 0x9E3779B97F4A7C15L);
    }

    private static IntStream roots(LinkMatrix matrix) {
        return IntStream.range(0, matrix.size());
    }

    private static void verifyAll(LinkMatrix matrix, List<Tree> trees, Random random) {
        int n = matrix.size();
        List<CollectiveAlgorithm> algorithms = List.of(
                new ForestAlgorithm("single-tree", Forest.equalShares(trees.subList(0, 1))),
                new ForestAlgorithm("multi-tree", Forest.equalShares(trees)),
                new RingAlgorithm(Samples.permutation(n, random)),
                new StarAlgorithm(n, random.nextInt(n)));
        CollectiveRequest request = Samples.request(n, 10 * n, random);
        for (CollectiveAlgorithm algorithm : algorithms) {
            ScheduleProof proof = ScheduleVerifier.verify(algorithm.schedule(request));
            if (algorithm instanceof ForestAlgorithm) {
                assertOverLinksOnly(proof, matrix);
            }
        }
    }

    /** Grown from the root, link by random link. */
    private static Tree spanningTree(LinkMatrix matrix, int root, Random random) {
        int n = matrix.size();
        int[] parents = new int[n];
        Arrays.fill(parents, n);
        parents[root] = -1;
        for (int reached = 1; reached < n; ) {
            int from = random.nextInt(n);
            int to = random.nextInt(n);
            if (parents[from] < n && parents[to] == n && matrix.weight(from, to) > 0) {
                parents[to] = from;
                reached++;
            }
        }
        return Tree.ofParents(parents);
    }

    private static void assertOverLinksOnly(ScheduleProof proof, LinkMatrix matrix) {
        for (int a = 0; a < proof.ranks(); a++) {
            for (int b = 0; b < proof.ranks(); b++) {
                assertThat(proof.bytesBetween(a, b) == 0 || matrix.weight(a, b) > 0)
                        .isTrue();
            }
        }
    }

    /** Random classes at a random density over a random tree that connects all. */
    private static LinkMatrix connected(int n, Random random) {
        int[][] classes = new int[n][n];
        double density = random.nextDouble();
        for (int a = 0; a < n; a++) {
            for (int b = 0; b < a; b++) {
                link(classes, a, b, random.nextDouble() < density ? 1 + random.nextInt(3) : 0);
            }
        }
        int backbone = 1 + random.nextInt(3);
        for (int[] edge : Samples.tree(n, 0, random).edges()) {
            link(classes, edge[0], edge[1], Math.max(backbone, classes[edge[0]][edge[1]]));
        }
        return new LinkMatrix(classes, new double[n][n]);
    }

    private static void link(int[][] classes, int a, int b, int linkClass) {
        classes[a][b] = linkClass;
        classes[b][a] = linkClass;
    }
}
