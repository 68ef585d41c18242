package dev.banyan.topology.internal.nvidia;

import dev.banyan.topology.Connection;
import dev.banyan.topology.internal.nvidia.TopoTable.Row;
import dev.banyan.topology.internal.text.Token;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Checks what only all rows of a table show.
 *
 * @param rows by end; null for a card without a row
 */
record WholeTable(Refusals refusals, List<@Nullable Row> rows) {
    /**
     * {@code topo -mp} prints the same table without NVLinks and a legend without the NV# line. The
     * oldest drivers ("Path traverses ...") have no such line for {@code topo -m} either.
     */
    void checkOption(int header, Map<String, String> legend) {
        if (legend.containsKey("OK")) {
            throw refusals.ofKind(header, "-p2p");
        }
        String pix = legend.get("PIX");
        boolean nvlink = rows.stream()
                .anyMatch(row ->
                        row != null && row.cells().stream().anyMatch(cell -> cell.kind() == Connection.Kind.NVLINK));
        if (!nvlink && pix != null && pix.startsWith("Connection") && !legend.containsKey("NV#")) {
            throw refusals.ofKind(header, "-mp");
        }
    }

    boolean anyCell(String word) {
        return rows.stream()
                .anyMatch(row -> row != null
                        && row.words().stream().anyMatch(w -> w.text().equals(word)));
    }

    void checkSymmetry(List<Token> ends) {
        for (int a = 0; a < ends.size(); a++) {
            Row row = rows.get(a);
            for (int b = 0; b < a && row != null; b++) {
                Row other = rows.get(b);
                if (other != null && !row.cells().get(b).equals(other.cells().get(a))) {
                    throw refusals.at(
                            row.line(),
                            row.words().get(b).column(),
                            "row " + ends.get(a).text() + " says "
                                    + row.words().get(b).text() + " for "
                                    + ends.get(b).text() + ", whose own row says "
                                    + other.words().get(a).text() + "; the matrix must be symmetric" + Refusals.RERUN);
                }
            }
        }
    }
}
