package dev.banyan.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class PeerAccessTest {
    private static final int[][] RANKS = {{0, 2, 1}, {2, 0, 1}, {1, 1, 0}};

    private static boolean[][] access(String... rows) {
        boolean[][] access = new boolean[rows.length][rows.length];
        for (int a = 0; a < rows.length; a++) {
            for (int b = 0; b < rows.length; b++) {
                access[a][b] = rows[a].charAt(b) == 'v';
            }
        }
        return access;
    }

    @Test
    void believesAccessThatContradictsRanks() {
        PeerAccess result = PeerAccess.reconcile(RANKS, access(".v.", "v.v", ".v."));

        assertThat(result.classes()).isDeepEqualTo(new int[][] {{0, 2, 1}, {2, 0, 2}, {1, 2, 0}});
        assertThat(result.warning()).hasValueSatisfying(w -> assertThat(w).startsWith("1 pair has peer access but"));
    }

    @Test
    void keepsRanksWhereAccessTellsNothing() {
        int[][] pcie = {{0, 1, 1}, {1, 0, 1}, {1, 1, 0}};

        assertThat(PeerAccess.reconcile(RANKS, access("vvv", "vvv", "vvv")).classes())
                .isDeepEqualTo(RANKS);
        assertThat(PeerAccess.reconcile(RANKS, access(".v.", "v..", "...")).warning())
                .isEmpty();
        assertThat(PeerAccess.reconcile(RANKS, access(".v.", "v.v", "...")).warning())
                .as("one way only")
                .isEmpty();
        assertThat(PeerAccess.reconcile(pcie, access(".v.", "v..", "...")).classes())
                .isDeepEqualTo(pcie);
        assertThat(PeerAccess.reconcile(new int[0][0], new boolean[0][0]).classes())
                .isEmpty();
    }

    @Test
    void refusesOtherShapes() {
        assertThatThrownBy(() -> PeerAccess.reconcile(RANKS, access("..", "..")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("3 rows of classes but 2 of peer access");
    }
}
