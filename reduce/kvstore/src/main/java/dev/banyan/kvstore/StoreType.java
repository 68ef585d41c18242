package dev.banyan.reduce.kvstore;

import dev.banyan.reduce.AlgorithmChoice;
import dev.banyan.reduce.Config;
import dev.banyan.reduce.Way;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/** How a store sends its keys. */
enum StoreType {
    /** As a parameter server: through the key's server. */
    DEVICE {
        @Override
        Way way(long count, int server, Config config) {
            return new Way(AlgorithmChoice.STAR, server);
        }
    },
    /** Over one tree, or for large keys over many. */
    TREE {
        @Override
        Way way(long count, int server, Config config) {
            return new Way(
                    count > config.treeArrayBound().orElse(Config.DEFAULT_TREE_ARRAY_BOUND)
                            ? AlgorithmChoice.MULTI_TREE
                            : AlgorithmChoice.SINGLE_TREE,
                    0);
        }
    },
    /** Around a ring. */
    RING {
        @Override
        Way way(long count, int server, Config config) {
            return new Way(AlgorithmChoice.RING, 0);
        }
    },
    /** As the communicator is configured. */
    AUTO {
        @Override
        Way way(long count, int server, Config config) {
            return Way.CONFIGURED;
        }
    };

    static StoreType of(String name) {
        return Arrays.stream(values())
                .filter(type -> type.label().equals(name))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException(
                        "no type of store is called \"" + name + "\"; take " + String.join(", ", KVStore.types())));
    }

    static List<String> labels() {
        return Arrays.stream(values()).map(StoreType::label).toList();
    }

    private String label() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** How a key of some elements is sent, whose server is that rank. */
    abstract Way way(long count, int server, Config config);
}
