package dev.banyan.cli.bench;

import dev.banyan.cli.bench.call.ElementType;
import dev.banyan.study.text.Names;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Element types as {@code -d} names them: one, by the name that nccl-tests or Banyan give it, or {@code all}.
 *
 * @param types at least one
 */
record ElementTypes(List<ElementType> types) {
    static final ElementTypes FLOAT = new ElementTypes(List.of(ElementType.FLOAT));

    /** Returns what the names stand for. */
    static Map<String, ElementTypes> named() {
        Map<String, ElementType> single = new LinkedHashMap<>(Names.of(ElementType.values(), ElementType::label));
        single.putAll(Names.of(ElementType.values(), element -> element.type().name()));
        Map<String, ElementTypes> named = new LinkedHashMap<>();
        single.putAll(Map.of("float16", ElementType.HALF, "float32", ElementType.FLOAT, "float64", ElementType.DOUBLE));
        single.forEach((name, type) -> named.put(name, new ElementTypes(List.of(type))));
        named.put("all", new ElementTypes(List.of(ElementType.values())));
        return named;
    }
}
