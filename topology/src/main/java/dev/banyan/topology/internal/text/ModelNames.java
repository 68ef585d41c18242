package dev.banyan.topology.internal.text;

import java.util.LinkedHashMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Models of GPUs as texts name them. */
public final class ModelNames {
    private ModelNames() {}

    /** Returns models with their numbers in the order of their first one, e.g. {@code 8x Tesla V100-SXM2-16GB}. */
    public static String counted(Stream<String> models) {
        return models
                .collect(Collectors.groupingBy(model -> model, LinkedHashMap::new, Collectors.counting()))
                .entrySet()
                .stream()
                .map(entry -> entry.getValue() + "x " + entry.getKey())
                .collect(Collectors.joining(" + "));
    }
}
