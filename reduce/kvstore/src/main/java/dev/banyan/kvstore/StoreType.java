package dev.banyan.kvstore;

import dev.banyan.config.Config;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.AlgorithmHint;
import dev.banyan.schedule.plan.Planner;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/** The way in which a store sends its keys. */
enum StoreType {
    /** Through the key's server, as a parameter server does. */
    DEVICE {
        @Override
        AlgorithmHint way(long count, int server, Config config) {
            return new AlgorithmHint(AlgorithmChoice.STAR, server);
        }
    },
    /** Over one tree, or for large keys over many. */
    TREE {
        @Override
        AlgorithmHint way(long count, int server, Config config) {
            return new AlgorithmHint(
                    count > config.get(Planner.TREE_ARRAY_BOUND)
                            ? AlgorithmChoice.MULTI_TREE
                            : AlgorithmChoice.SINGLE_TREE,
                    0);
        }
    },
    /** Around a ring. */
    RING {
        @Override
        AlgorithmHint way(long count, int server, Config config) {
            return new AlgorithmHint(AlgorithmChoice.RING, 0);
        }
    },
    /** As the communicator is configured. */
    AUTO {
        @Override
        AlgorithmHint way(long count, int server, Config config) {
            return AlgorithmHint.CONFIGURED;
        }
    };

    static StoreType of(String name) {
        return Arrays.stream(values())
                .filter(type -> type.label().equals(name))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException(
                        StoreLinks.OVER_PROCESSES.contains(name)
                                ? "stores of type \"" + name + "\" are in the artifact dev.banyan:banyan-mpi, which is"
                                        + " not on the class path; add it to the program's dependencies"
                                : "no type of store is called \"" + name + "\"; take "
                                        + String.join(", ", KVStore.types())));
    }

    static List<String> labels() {
        return Arrays.stream(values()).map(StoreType::label).toList();
    }

    private String label() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** Returns how a key of so many elements with the given server is sent. */
    abstract AlgorithmHint way(long count, int server, Config config);
}
