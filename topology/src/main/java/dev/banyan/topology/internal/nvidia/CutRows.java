package dev.banyan.topology.internal.nvidia;

import dev.banyan.topology.internal.nvidia.TopoTable.Row;
import dev.banyan.topology.internal.text.Token;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Finds rows of GPUs that end inside the affinity columns, where the matrix itself lacks no cell. */
final class CutRows {
    private CutRows() {}

    /**
     * Returns a warning for each such row.
     *
     * @param lines the text
     * @param ends the columns of the matrix
     * @param rows its rows, null where one is missing
     */
    static List<String> warnings(List<String> lines, List<Token> ends, List<@Nullable Row> rows) {
        List<Row> gpus = new ArrayList<>();
        for (int i = 0; i < rows.size(); i++) {
            Row row = rows.get(i);
            if (row != null && TopoTableParser.GPU.matcher(ends.get(i).text()).matches()) {
                gpus.add(row);
            }
        }
        long most = gpus.stream().mapToLong(row -> tabs(lines, row)).max().orElse(0);
        return gpus.stream()
                .filter(row -> tabs(lines, row) < most || row.cpus().matches(".*[-,]"))
                .map(row -> "line " + (row.line() + 1)
                        + " ends inside the affinity columns: the text may be cut there, and what follows is not known")
                .toList();
    }

    private static long tabs(List<String> lines, Row row) {
        return lines.get(row.line())
                .chars()
                .filter(character -> character == '\t')
                .count();
    }
}
