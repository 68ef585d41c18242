package dev.banyan.cli.bench.call;

import dev.banyan.schedule.type.DataType;
import dev.banyan.study.text.Names;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Element types as {@code -d} names them: one, by the name that nccl-tests or Banyan give it, or {@code all}.
 *
 * @param types at least one
 */
public record ElementTypes(List<DataType> types) {
    public static final ElementTypes FLOAT = new ElementTypes(List.of(DataType.F32));

    /** All types, in the order of nccl-tests. */
    public static final ElementTypes ALL = new ElementTypes(List.of(
            DataType.I8,
            DataType.U8,
            DataType.I32,
            DataType.I64,
            DataType.F16,
            DataType.BF16,
            DataType.F32,
            DataType.F64));

    /** Returns the name that nccl-tests give a type. */
    public static String label(DataType type) {
        return switch (type) {
            case I8 -> "int8";
            case U8 -> "uint8";
            case I32 -> "int32";
            case I64 -> "int64";
            case F16 -> "half";
            case BF16 -> "bfloat16";
            case F32 -> "float";
            case F64 -> "double";
        };
    }

    /** Returns what the names stand for. */
    public static Map<String, ElementTypes> named() {
        Map<String, DataType> single = new LinkedHashMap<>(Names.of(ALL.types, ElementTypes::label));
        single.putAll(Names.of(ALL.types, DataType::name));
        single.put("float16", DataType.F16);
        single.put("float32", DataType.F32);
        single.put("float64", DataType.F64);
        Map<String, ElementTypes> named = new LinkedHashMap<>();
        single.forEach((name, type) -> named.put(name, new ElementTypes(List.of(type))));
        named.put("all", ALL);
        return named;
    }
}
