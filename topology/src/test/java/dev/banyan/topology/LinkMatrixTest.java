package dev.banyan.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;

class LinkMatrixTest {
    private static final double[][] GBS = {{0, 10, 20}, {11, 0, 30}, {21, 31, 0}};

    @Test
    void pcieWeighsNothingWhereNvlinkConnects() {
        LinkMatrix matrix = new LinkMatrix(new int[][] {{0, 2, 1}, {2, 0, 3}, {1, 3, 0}}, GBS);
        assertThat(matrix.nvlinkConnected()).isTrue();
        assertThat(matrix.classOf(0, 2)).isEqualTo(LinkMatrix.PCIE);
        assertThat(matrix.weight(0, 2)).isZero();
        assertThat(matrix.gbs(0, 2)).isZero();
        assertThat(matrix.weight(2, 1)).isEqualTo(3);
        assertThat(matrix.gbs(2, 1)).isEqualTo(31);
        assertThat(matrix.gbs(1, 2)).isEqualTo(30);
    }

    @Test
    void pcieWeighsOneByNWhereNvlinkDoesNotConnect() {
        LinkMatrix matrix = new LinkMatrix(new int[][] {{0, 2, 1}, {2, 0, 1}, {1, 1, 0}}, GBS);
        assertThat(matrix.nvlinkConnected()).isFalse();
        assertThat(matrix.weight(0, 1)).isEqualTo(2);
        assertThat(matrix.weight(0, 2)).isEqualTo(1.0 / 3);
        assertThat(matrix.gbs(0, 2)).isEqualTo(20);
    }

    @Test
    void pairsWithoutAnyConnectionAreStagedThroughTheHost() {
        Machine machine = new Machine(
                "apart",
                List.of(Device.named("a"), Device.named("b"), Device.named("c")),
                List.of(),
                List.of(Link.duplex(0, 1, Link.Kind.NVLINK, 1, 25, 1.8)),
                List.of(),
                List.of());
        LinkMatrix matrix = LinkMatrix.of(machine);
        assertThat(matrix.weight(0, 1)).isEqualTo(2);
        assertThat(matrix.weight(0, 2)).isEqualTo(1.0 / 3);
        assertThat(matrix.gbs(1, 2)).isEqualTo(LinkMatrix.HOST_STAGED_GBS);
        assertThat(matrix.warnings()).singleElement().asString().contains("2 of 3 pairs", "apart");
    }

    @Test
    void refusesWhatIsNoMatrix() {
        refused(new int[][] {{0, 2}, {2, 0}}, GBS, "2 rows of classes but 3 of bandwidths");
        refused(new int[][] {{0, 2}, {2, 0}}, new double[][] {{0, 1}, {1}}, "row 1");
        refused(new int[][] {{0, 2}, {1, 0}}, new double[2][2], "pair 0,1");
        refused(new int[][] {{0, 4}, {4, 0}}, new double[2][2], "class 4");
        refused(new int[][] {{1, 2}, {2, 0}}, new double[2][2], "pair 0,0");
        refused(new int[][] {{0, 2}, {2, 0}}, new double[][] {{0, Double.NaN}, {1, 0}}, "bandwidth NaN of pair 0,1");
        refused(new int[][] {{0, 2}, {2, 0}}, new double[][] {{0, 1}, {-1, 0}}, "bandwidth -1.0 of pair 1,0");
    }

    private static void refused(int[][] classes, double[][] gbs, String reason) {
        assertThatThrownBy(() -> new LinkMatrix(classes, gbs))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(reason);
    }
}
