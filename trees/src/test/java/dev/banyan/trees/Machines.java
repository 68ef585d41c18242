package dev.banyan.trees;

import dev.banyan.topology.LinkMatrix;
import java.util.Arrays;
import java.util.Random;
import java.util.function.IntBinaryOperator;
import java.util.stream.IntStream;

/** Link matrices to test with. */
public final class Machines {
    /** Classes of p3.16xlarge: two quads of V100 and four links between them. */
    public static final String P3_16XLARGE = """
        0 2 2 3 3 1 1 1
        2 0 3 2 1 3 1 1
        2 3 0 3 1 1 2 1
        3 2 3 0 1 1 1 2
        3 1 1 1 0 2 2 3
        1 3 1 1 2 0 3 2
        1 1 2 1 2 3 0 3
        1 1 1 2 3 2 3 0
        """;

    /** A user's machine: a cycle of eight single links. */
    public static final String EIGHT_CYCLE = """
        0 2 2 0 0 0 0 0
        2 0 0 2 0 0 0 0
        2 0 0 0 0 0 2 0
        0 2 0 0 0 0 0 2
        0 0 0 0 0 2 2 0
        0 0 0 0 2 0 0 2
        0 0 2 0 2 0 0 0
        0 0 0 2 0 2 0 0
        """;

    private static final double[] GBS = {0, 10, 25, 50};

    private Machines() {}

    public static LinkMatrix p3() {
        return matrix(classes(P3_16XLARGE));
    }

    public static int[][] classes(String text) {
        return text.lines()
                .map(line -> Arrays.stream(line.trim().split("\\s+"))
                        .mapToInt(Integer::parseInt)
                        .toArray())
                .toArray(int[][]::new);
    }

    /** With 10 GB/s over PCIe and 25 per NVLink. */
    public static LinkMatrix matrix(int[][] classes) {
        double[][] gbs = Arrays.stream(classes)
                .map(row -> IntStream.of(row).mapToDouble(c -> GBS[c]).toArray())
                .toArray(double[][]::new);
        return new LinkMatrix(classes, gbs);
    }

    /** Devices of p3.16xlarge, in the order given. */
    public static LinkMatrix p3Subset(int... devices) {
        int[][] all = classes(P3_16XLARGE);
        return matrix(IntStream.of(devices)
                .mapToObj(a -> IntStream.of(devices).map(b -> all[a][b]).toArray())
                .toArray(int[][]::new));
    }

    /** The devices whose bits are set. */
    public static int[] devices(int mask) {
        return IntStream.range(0, Integer.SIZE)
                .filter(v -> (mask >> v & 1) == 1)
                .toArray();
    }

    public static int[] allRoots(LinkMatrix matrix) {
        return IntStream.range(0, matrix.size()).toArray();
    }

    /** n devices; the classes are given for pairs a, b with a less than b. */
    public static LinkMatrix where(int n, IntBinaryOperator classOf) {
        int[][] classes = new int[n][n];
        for (int a = 0; a < n; a++) {
            for (int b = a + 1; b < n; b++) {
                classes[a][b] = classOf.applyAsInt(a, b);
                classes[b][a] = classes[a][b];
            }
        }
        return matrix(classes);
    }

    public static LinkMatrix path(int n) {
        return where(n, (a, b) -> b == a + 1 ? 2 : 1);
    }

    public static LinkMatrix star(int n) {
        return where(n, (a, b) -> a == 0 ? 2 : 0);
    }

    public static LinkMatrix cycle(int n) {
        return where(n, (a, b) -> b == a + 1 || (a == 0 && b == n - 1) ? 2 : 1);
    }

    public static LinkMatrix complete(int n) {
        return where(n, (a, b) -> 3);
    }

    /** Two halves, each linked by NVLink, PCIe between them. */
    public static LinkMatrix islands(int n) {
        return where(n, (a, b) -> a < n / 2 == b < n / 2 ? 2 : 1);
    }

    /** A connected machine: a random spanning tree of any classes and further links of a random density. */
    public static LinkMatrix random(int n, Random random) {
        int[][] classes = new int[n][n];
        double density = random.nextDouble();
        for (int b = 1; b < n; b++) {
            int a = random.nextInt(b);
            classes[a][b] = 1 + random.nextInt(3);
        }
        for (int a = 0; a < n; a++) {
            for (int b = a + 1; b < n; b++) {
                if (classes[a][b] == 0 && random.nextDouble() < density) {
                    classes[a][b] = random.nextInt(4);
                }
                classes[b][a] = classes[a][b];
            }
        }
        return matrix(classes);
    }

    /** Every pair linked by one or two NVLinks. */
    public static LinkMatrix dense(int n, Random random) {
        return where(n, (a, b) -> 2 + random.nextInt(2));
    }
}
