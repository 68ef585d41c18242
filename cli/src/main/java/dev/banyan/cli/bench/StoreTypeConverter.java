package dev.banyan.cli.bench;

import dev.banyan.cli.input.Names;
import dev.banyan.kvstore.KVStore;
import java.util.function.UnaryOperator;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** For picocli: a type of key-value stores. */
public final class StoreTypeConverter implements ITypeConverter<String> {
    @Override
    public String convert(String name) {
        try {
            return Names.find("type of store", Names.of(KVStore.types(), UnaryOperator.identity()), name);
        } catch (IllegalArgumentException e) {
            throw new TypeConversionException(e.getMessage());
        }
    }
}
