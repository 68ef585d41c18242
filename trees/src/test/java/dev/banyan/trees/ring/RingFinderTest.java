package dev.banyan.trees.ring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import dev.banyan.topology.LinkMatrix;
import dev.banyan.trees.Machines;
import java.util.Arrays;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class RingFinderTest {
    @Test
    void p3HasARingOfDoubleLinks() {
        int[] order = RingFinder.order(Machines.p3());
        assertThat(order).containsExactly(0, 3, 2, 1, 5, 6, 7, 4);
        assertThat(figures(Machines.p3(), order)).containsExactly(0, 0, 50, 400);
    }

    @Test
    void smallMachines() {
        assertThat(RingFinder.order(Machines.complete(1))).containsExactly(0);
        assertThat(RingFinder.order(Machines.complete(2))).containsExactly(0, 1);
        assertThat(RingFinder.order(Machines.path(3))).containsExactly(0, 1, 2);
        assertThatThrownBy(() -> RingFinder.order(Machines.complete(0))).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void breaksAPathOnce() {
        assertThat(RingFinder.order(Machines.path(6))).containsExactly(0, 1, 2, 3, 4, 5);
        assertThat(RingFinder.order(Machines.where(5, (a, b) -> 0))).containsExactlyInAnyOrder(0, 1, 2, 3, 4);
    }

    @Test
    void equalsBruteForceOnRandomMachines() {
        Random random = new Random(80);
        for (int i = 0; i < 300; i++) {
            LinkMatrix matrix = Machines.random(4 + random.nextInt(4), random);
            int[] order = RingFinder.order(matrix);
            assertRing(matrix, order);
            double[] best = bruteForce(matrix, IntStream.range(0, matrix.size()).toArray(), 1, new double[0]);
            assertThat(figures(matrix, order)).containsExactly(best, within(1e-9));
        }
    }

    @Test
    void largeMachines() {
        Random random = new Random(81);
        for (int n : new int[] {12, 16, 17, 24, 64, 128}) {
            int[] order = RingFinder.order(Machines.complete(n));
            assertThat(figures(Machines.complete(n), order)[2]).isEqualTo(50);
            LinkMatrix cycle = Machines.cycle(n);
            assertThat(figures(cycle, RingFinder.order(cycle))[0]).isZero();
            assertRing(cycle, RingFinder.order(cycle));
            LinkMatrix dense = Machines.dense(n, random);
            assertThat(figures(dense, RingFinder.order(dense))[2]).isEqualTo(50);
            assertRing(dense, RingFinder.order(dense));
            LinkMatrix any = Machines.random(n, random);
            assertRing(any, RingFinder.order(any));
        }
    }

    private static void assertRing(LinkMatrix matrix, int[] order) {
        assertThat(Arrays.stream(order).sorted())
                .containsExactly(IntStream.range(0, matrix.size()).boxed().toArray(Integer[]::new));
        assertThat(order[0]).isZero();
        assertThat(order[1]).isLessThan(order[order.length - 1]);
    }

    /**
     * Pairs without link (fewer is better, so negative), those without even PCIe, slowest (0 if one is missing),
     * sum.
     */
    private static double[] figures(LinkMatrix matrix, int[] order) {
        int missing = 0;
        int none = 0;
        double slowest = Double.POSITIVE_INFINITY;
        double sum = 0;
        for (int i = 0; i < order.length; i++) {
            int a = order[i];
            int b = order[(i + 1) % order.length];
            missing += matrix.weight(a, b) > 0 ? 0 : 1;
            none += matrix.classOf(a, b) > 0 ? 0 : 1;
            slowest = Math.min(slowest, matrix.gbs(a, b));
            sum += matrix.gbs(a, b);
        }
        return new double[] {0.0 - missing, 0.0 - none, missing > 0 ? 0 : slowest, sum};
    }

    private static double[] bruteForce(LinkMatrix matrix, int[] order, int at, double[] best) {
        if (at == order.length) {
            double[] figures = figures(matrix, order);
            return best.length == 0 || Arrays.compare(figures, best) > 0 ? figures : best;
        }
        double[] result = best;
        for (int i = at; i < order.length; i++) {
            swap(order, at, i);
            result = bruteForce(matrix, order, at + 1, result);
            swap(order, at, i);
        }
        return result;
    }

    private static void swap(int[] order, int i, int j) {
        int device = order[i];
        order[i] = order[j];
        order[j] = device;
    }
}
