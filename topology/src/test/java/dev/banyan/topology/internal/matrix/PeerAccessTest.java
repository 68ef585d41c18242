package dev.banyan.topology.internal.matrix;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
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

    private final List<String> warnings = new ArrayList<>();

    private int[][] reconciled(int[][] ranks, String... access) {
        return PeerAccess.reconcile(ranks, access(access), warnings);
    }

    @Test
    void believesAccessThatContradictsRanks() {
        assertThat(reconciled(RANKS, ".v.", "v.v", ".v.")).isDeepEqualTo(new int[][] {{0, 2, 1}, {2, 0, 2}, {1, 2, 0}});
        assertThat(warnings).singleElement().satisfies(w -> assertThat(w).startsWith("1 pair has peer access but"));
    }

    @Test
    void keepsRanksWhereAccessTellsNothing() {
        int[][] pcie = {{0, 1, 1}, {1, 0, 1}, {1, 1, 0}};

        assertThat(reconciled(RANKS, "vvv", "vvv", "vvv")).isDeepEqualTo(RANKS);
        assertThat(reconciled(RANKS, ".v.", "v..", "...")).isDeepEqualTo(RANKS);
        assertThat(reconciled(RANKS, ".v.", "v.v", "...")).as("one way only").isDeepEqualTo(RANKS);
        assertThat(reconciled(pcie, ".v.", "v..", "...")).isDeepEqualTo(pcie);
        assertThat(reconciled(new int[0][0])).isEmpty();
        assertThat(warnings).isEmpty();
    }
}
