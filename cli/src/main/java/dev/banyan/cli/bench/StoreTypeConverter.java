package dev.banyan.cli.bench;

import dev.banyan.cli.input.NamedConverter;
import dev.banyan.kvstore.KVStore;
import java.util.function.UnaryOperator;

/** For picocli: a type of key-value stores. */
public final class StoreTypeConverter extends NamedConverter<String> {
    /** All types that there are. */
    public StoreTypeConverter() {
        super("type of store", byName(KVStore.types().toArray(String[]::new), UnaryOperator.identity()));
    }
}
