package dev.banyan.cli.bench.call;

import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.study.text.Names;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Algorithms as {@code --algorithm} names them: one, several with commas between, or {@code all}. */
public record AlgorithmList(List<AlgorithmChoice> choices) {
    /** Every algorithm of Banyan's, without the automatic choice between them. */
    public static final AlgorithmList ALL = new AlgorithmList(AlgorithmChoice.scheduled());

    public static final AlgorithmList AUTO = new AlgorithmList(List.of(AlgorithmChoice.AUTO));

    /** Reads names with commas between them. */
    public static AlgorithmList parse(String names) {
        Map<String, AlgorithmList> known = new LinkedHashMap<>();
        for (AlgorithmChoice choice : AlgorithmChoice.values()) {
            known.put(choice.label(), new AlgorithmList(List.of(choice)));
        }
        known.put("all", ALL);
        return new AlgorithmList(Arrays.stream(names.split(",", -1))
                .flatMap(name -> Names.find("algorithm", known, name.strip()).choices().stream())
                .distinct()
                .toList());
    }
}
