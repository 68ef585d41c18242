package dev.banyan.cli.bench;

import dev.banyan.reduce.type.DataType;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** An element type under the names that nccl-tests and Banyan give it. */
enum ElementType {
    INT8(DataType.I8),
    UINT8(DataType.U8),
    INT32(DataType.I32),
    INT64(DataType.I64),
    HALF(DataType.F16),
    BFLOAT16(DataType.BF16),
    FLOAT(DataType.F32),
    DOUBLE(DataType.F64);

    private final DataType type;

    ElementType(DataType type) {
        this.type = type;
    }

    DataType type() {
        return type;
    }

    /** Name as nccl-tests write it. */
    String label() {
        return name().toLowerCase(Locale.ROOT);
    }

    private String banyanName() {
        return type.name().toLowerCase(Locale.ROOT);
    }

    static String names() {
        return Arrays.stream(values()).map(ElementType::label).collect(Collectors.joining(", "));
    }

    /** For picocli. */
    static final class Converter implements ITypeConverter<ElementType> {
        @Override
        public ElementType convert(String value) {
            String wanted = value.toLowerCase(Locale.ROOT);
            return Arrays.stream(values())
                    .filter(type -> List.of(type.label(), type.banyanName()).contains(wanted))
                    .findFirst()
                    .orElseThrow(() -> new TypeConversionException("no element type '" + value + "'; the types are " + names()));
        }
    }
}
