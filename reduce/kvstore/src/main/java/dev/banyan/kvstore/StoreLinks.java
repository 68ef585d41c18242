package dev.banyan.kvstore;

import java.util.List;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.Set;

/** The providers of links to other processes on the class path. */
final class StoreLinks {
    /** The types of the module mpi, which need not be on the class path. */
    static final Set<String> OVER_PROCESSES = Set.of("funnel", "concum", "depcha");

    private static final List<StoreLink.Provider> ALL =
            ServiceLoader.load(StoreLink.Provider.class, StoreLink.class.getClassLoader()).stream()
                    .map(ServiceLoader.Provider::get)
                    .toList();

    private StoreLinks() {}

    static List<String> types() {
        return ALL.stream().flatMap(provider -> provider.types().stream()).toList();
    }

    static Optional<StoreLink.Provider> of(String type) {
        return ALL.stream().filter(provider -> provider.types().contains(type)).findFirst();
    }
}
