package dev.banyan.cli.bench;

import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.study.text.ChoiceText;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The algorithms of a table for which kernels exchange buffers directly. */
final class ExchangingAlgorithms {
    /** True for those of which calls in place do so, too. */
    private final Map<AlgorithmConfig, Boolean> found = new LinkedHashMap<>();

    /** Adds one; adding it twice is no error. */
    void add(AlgorithmConfig algorithm, boolean inPlace) {
        found.merge(algorithm, inPlace, Boolean::logicalOr);
    }

    /** Returns their names in the order of the table. */
    List<String> names() {
        return found.entrySet().stream()
                .map(each -> ChoiceText.name(each.getKey()) + (each.getValue() ? "" : " out of place"))
                .toList();
    }
}
