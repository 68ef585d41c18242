package dev.banyan.cli.bench;

import dev.banyan.kvstore.StoreType;
import dev.banyan.study.text.Names;
import java.util.Arrays;
import java.util.function.UnaryOperator;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** For picocli: a type of key-value stores. */
public final class StoreTypeConverter implements ITypeConverter<String> {
    @Override
    public String convert(String name) {
        try {
            return Names.find(
                    "type of store",
                    Names.of(
                            Arrays.stream(StoreType.values())
                                    .map(StoreType::label)
                                    .toList(),
                            UnaryOperator.identity()),
                    name);
        } catch (IllegalArgumentException e) {
            throw new TypeConversionException(e.getMessage());
        }
    }
}
