package dev.banyan.cli.bench.call;

import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.study.text.Names;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Algorithms as {@code --algorithm} names them: one, several with commas between, or {@code all}. Each may have its
 * parameters, as {@link AlgorithmConfig} writes them.
 */
public record AlgorithmList(List<AlgorithmConfig> algorithms) {
    /** Every algorithm of Banyan's, without the automatic choice between them. */
    public static final AlgorithmList ALL = of(AlgorithmChoice.scheduled());

    public static final AlgorithmList AUTO = of(List.of(AlgorithmChoice.AUTO));

    private static AlgorithmList of(List<AlgorithmChoice> choices) {
        return new AlgorithmList(choices.stream().map(AlgorithmConfig::of).toList());
    }

    /** Reads names with commas between them. */
    public static AlgorithmList parse(String names) {
        Map<String, AlgorithmList> known = new LinkedHashMap<>();
        for (AlgorithmChoice choice : AlgorithmChoice.values()) {
            known.put(choice.label(), of(List.of(choice)));
        }
        known.put("all", ALL);
        return new AlgorithmList(Arrays.stream(names.split(",", -1))
                .flatMap(name -> named(name.strip(), known))
                .distinct()
                .toList());
    }

    private static Stream<AlgorithmConfig> named(String name, Map<String, AlgorithmList> known) {
        String plain = name.split("[/@]", 2)[0];
        List<AlgorithmConfig> found = Names.find("algorithm", known, plain).algorithms;
        if (plain.equals(name)) {
            return found.stream();
        }
        if (found.size() > 1) {
            throw new IllegalArgumentException("'" + name + "' gives parameters to all; name one algorithm");
        }
        return Stream.of(AlgorithmConfig.parse(found.getFirst() + name.substring(plain.length())));
    }

    /** Returns whether an algorithm is among them, whatever its parameters. */
    public boolean has(AlgorithmChoice choice) {
        return algorithms.stream().anyMatch(algorithm -> algorithm.algorithm() == choice);
    }
}
