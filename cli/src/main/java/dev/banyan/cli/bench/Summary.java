package dev.banyan.cli.bench;

import dev.banyan.cli.input.ByteSize;
import dev.banyan.reduce.AlgorithmChoice;
import dev.banyan.reduce.type.Collective;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Collectors;

/** What a sweep has shown: algorithms side by side, where one overtakes another, and what could be expected. */
final class Summary {
    private final List<AlgorithmChoice> algorithms;
    private final Map<Long, Map<AlgorithmChoice, Row>> bySize;

    Summary(List<Row> rows) {
        algorithms = rows.stream().map(Row::algorithm).distinct().toList();
        bySize = rows.stream()
                .collect(Collectors.groupingBy(
                        Row::bytes, TreeMap::new, Collectors.toMap(Row::algorithm, Function.identity())));
    }

    /** Times out of place in us, algorithm by size, the least of each size marked. */
    List<String> table() {
        List<String> lines = new ArrayList<>();
        lines.add("# time (us) out of place; * is the least");
        lines.add("# %10s%s"
                .formatted("size", algorithms.stream().map(name -> "%13s ".formatted(name.label())).collect(Collectors.joining())));
        bySize.forEach((bytes, row) -> {
            AlgorithmChoice best = fastest(row);
            lines.add("# %10s%s"
                    .formatted(new ByteSize(bytes).label(), algorithms.stream()
                            .map(name -> cell(row.get(name), name == best))
                            .collect(Collectors.joining())));
        });
        return lines;
    }

    private static String cell(Row row, boolean best) {
        return String.format(Locale.ROOT, "%13.1f%s", row.outOfPlace().timeUs(), best ? "*" : " ");
    }

    private static AlgorithmChoice fastest(Map<AlgorithmChoice, Row> row) {
        return row.values().stream()
                .min(Comparator.comparingDouble(one -> one.outOfPlace().timeUs()))
                .orElseThrow()
                .algorithm();
    }

    /**
     * From which size on several trees beat one; nothing where not both were measured.
     *
     * @param boundBytes the array bound in bytes: what the automatic choice goes by
     */
    Optional<String> crossover(long boundBytes) {
        if (!algorithms.contains(AlgorithmChoice.SINGLE_TREE) || !algorithms.contains(AlgorithmChoice.MULTI_TREE)) {
            return Optional.empty();
        }
        Long from = null;
        for (Map.Entry<Long, Map<AlgorithmChoice, Row>> size : bySize.entrySet()) {
            boolean multi = us(size.getValue(), AlgorithmChoice.MULTI_TREE) < us(size.getValue(), AlgorithmChoice.SINGLE_TREE);
            from = !multi ? null : from == null ? size.getKey() : from;
        }
        String measured = from == null
                ? "single-tree is not beaten by multi-tree at the largest size here"
                : "multi-tree is faster than single-tree from " + new ByteSize(from).label() + " on";
        return Optional.of("# crossover: " + measured + "; auto takes multi-tree above " + new ByteSize(boundBytes).label()
                + " (MXNET_KVSTORE_TREE_ARRAY_BOUND)");
    }

    private static double us(Map<AlgorithmChoice, Row> row, AlgorithmChoice algorithm) {
        return row.get(algorithm).outOfPlace().timeUs();
    }

    /** The bound at the largest size, and each algorithm's share of it. */
    List<String> expectation(CopyBound bound) {
        long bytes = bySize.keySet().stream().max(Comparator.naturalOrder()).orElseThrow();
        Map<AlgorithmChoice, Row> largest = bySize.get(bytes);
        Row any = largest.values().iterator().next();
        double leastUs = bound.leastUs(any.call().leastTraffic(any.count()));
        Collective collective = any.call().collective();
        List<String> lines = new ArrayList<>();
        lines.add(String.format(
                Locale.ROOT,
                "# what to expect: a plain copy by all cores moves %.1f GB/s here, so %s of %s over %d ranks cannot take less",
                bound.gbs(), collective.label(), new ByteSize(bytes).label(), any.call().ranks()));
        lines.add(String.format(
                Locale.ROOT, "# than %.0f us: at most %.2f GB/s algbw. Reached, out of place and in place:", leastUs, bytes / leastUs / 1e3));
        for (AlgorithmChoice algorithm : algorithms) {
            Row row = largest.get(algorithm);
            lines.add(String.format(
                    Locale.ROOT,
                    "#   %-12s %3.0f%%  %3.0f%%",
                    algorithm.label(), 100 * leastUs / row.outOfPlace().timeUs(), 100 * leastUs / row.inPlace().timeUs()));
        }
        return lines;
    }
}
