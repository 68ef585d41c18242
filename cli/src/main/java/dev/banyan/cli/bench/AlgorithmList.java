package dev.banyan.cli.bench;

import dev.banyan.cli.input.NamedConverter;
import dev.banyan.schedule.plan.AlgorithmChoice;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import picocli.CommandLine.ITypeConverter;

/** Algorithms as {@code --algorithm} names them: one, several with commas between, or {@code all}. */
record AlgorithmList(List<AlgorithmChoice> choices) {
    /** Every algorithm, without the automatic choice between them. */
    static final AlgorithmList ALL = new AlgorithmList(Arrays.stream(AlgorithmChoice.values())
            .filter(choice -> choice != AlgorithmChoice.AUTO)
            .toList());

    static final AlgorithmList AUTO = new AlgorithmList(List.of(AlgorithmChoice.AUTO));

    AlgorithmList {
        choices = List.copyOf(choices);
    }

    /** For picocli. */
    static final class Converter implements ITypeConverter<AlgorithmList> {
        private final One one = new One();

        @Override
        public AlgorithmList convert(String names) {
            return new AlgorithmList(Arrays.stream(names.split(",", -1))
                    .flatMap(name -> one.convert(name.strip()).choices().stream())
                    .distinct()
                    .toList());
        }
    }

    private static final class One extends NamedConverter<AlgorithmList> {
        One() {
            super("algorithm", names());
        }

        private static Map<String, AlgorithmList> names() {
            Map<String, AlgorithmList> names = new LinkedHashMap<>();
            for (AlgorithmChoice choice : AlgorithmChoice.values()) {
                names.put(choice.label(), new AlgorithmList(List.of(choice)));
            }
            names.put("all", ALL);
            return names;
        }
    }
}
