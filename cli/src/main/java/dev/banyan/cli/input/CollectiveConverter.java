package dev.banyan.cli.input;

import dev.banyan.schedule.type.Collective;
import java.util.Map;

/** For picocli: the underscores may be missing, as in the names of nccl-tests' programs. */
public final class CollectiveConverter extends NamedConverter<Collective> {
    CollectiveConverter() {
        super("collective", names());
    }

    private static Map<String, Collective> names() {
        Map<String, Collective> names = byName(Collective.values(), Collective::label);
        names.putAll(byName(Collective.values(), one -> one.label().replace("_", "")));
        return names;
    }
}
