package dev.banyan.topology.internal.nvidia;

import dev.banyan.topology.internal.text.Token;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The matrix of {@code topo -m} as printed, checked for shape and symmetry.
 *
 * @param ends names of its columns in order: GPUs and cards
 * @param rows a row per end; those of cards may be null where the text does not hold them
 * @param oldDriver whether it says SOC, as drivers did before NVLink 2
 * @param cardNames what the NIC legend calls {@code NIC0} and so on
 * @param warnings what was odd, one sentence each
 */
record TopoTable(
        List<String> ends,
        List<@Nullable Row> rows,
        boolean oldDriver,
        Map<String, String> cardNames,
        List<String> warnings) {
    /**
     * One row.
     *
     * @param line index of its line in the text
     * @param words its cells as they are written
     * @param cells a cell per end
     * @param cpus the CPU Affinity column, empty where it is not known
     * @param numa the NUMA Affinity column, empty where it is not known
     */
    record Row(int line, List<Token> words, List<TopoCell> cells, String cpus, String numa) {}

    /** Returns whether an end is a GPU. */
    boolean isGpu(int end) {
        return TopoTableParser.GPU.matcher(ends.get(end)).matches();
    }

    /** Returns the NVLinks of a pair of GPUs. */
    int lanes(String a, String b) {
        TopoCell cell = cell(ends.indexOf(a), ends.indexOf(b));
        return cell == null ? 0 : cell.lanes();
    }

    /** The cell of a pair, from whichever row is there; null where neither is. */
    @Nullable
    TopoCell cell(int a, int b) {
        Row row = rows.get(a);
        if (row != null) {
            return row.cells().get(b);
        }
        Row other = rows.get(b);
        return other == null ? null : other.cells().get(a);
    }
}
