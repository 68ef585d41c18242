package dev.banyan.kvstore;

import dev.banyan.config.Config;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.AlgorithmHint;
import dev.banyan.schedule.plan.Planner;
import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;

/** The way in which a store sends its keys. MXNet and the settings of Banyan name them in lower case. */
public enum StoreType {
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
    AUTO,
    /** Over all processes that mpirun started, one key after another in the order of the calls; calls block. */
    FUNNEL(true),
    /** Over all processes, several keys at once: the sum over processes follows the pull. */
    CONCUM(true),
    /** Over all processes, several keys at once: the sum over processes follows the push. */
    DEPCHA(true);

    private final boolean overProcesses;

    StoreType() {
        this(false);
    }

    StoreType(boolean overProcesses) {
        this.overProcesses = overProcesses;
    }

    /**
     * Returns the type of a name, e.g. {@code tree}.
     *
     * @throws IllegalArgumentException if no type has this name; the message lists the names
     */
    public static StoreType of(String name) {
        return Arrays.stream(values())
                .filter(type -> type.label().equals(name))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("no type of store is called \"" + name + "\"; take "
                        + Arrays.stream(values()).map(StoreType::label).collect(Collectors.joining(", "))));
    }

    /** Returns the name, in lower case. */
    public String label() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** Returns whether a store of this type spans all processes that mpirun started; it needs the module mpi. */
    public boolean overProcesses() {
        return overProcesses;
    }

    /** Returns how a key of so many elements with the given server is sent within a process. */
    AlgorithmHint way(long count, int server, Config config) {
        return AlgorithmHint.CONFIGURED;
    }
}
