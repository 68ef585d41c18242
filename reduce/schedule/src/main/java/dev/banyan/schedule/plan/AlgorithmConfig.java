package dev.banyan.schedule.plan;

import dev.banyan.config.Bytes;
import dev.banyan.schedule.internal.algorithm.CollectiveRequest;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The algorithm of a call and its parameters. As text, {@code ALGORITHM[/TREES][@CHUNK]}: {@code ring/1}, {@code
 * multi-tree/exact}, {@code single-tree@64K}, {@code packing/8@1M}.
 *
 * @param algorithm the algorithm
 * @param maxTrees greatest number of trees of {@link AlgorithmChoice#PACKING}, or of rings, each one way around, of
 *     {@link AlgorithmChoice#RING}; {@link Integer#MAX_VALUE} for the best number, and for all other algorithms
 * @param trees generator of the trees of {@link AlgorithmChoice#SINGLE_TREE} and {@link AlgorithmChoice#MULTI_TREE};
 *     null for that of the configuration, and for all other algorithms
 * @param chunkBytes greatest length of a chunk in bytes, at least 64; {@link Long#MAX_VALUE} if it is open
 */
public record AlgorithmConfig(
        AlgorithmChoice algorithm, int maxTrees, @Nullable TreeGenerator trees, long chunkBytes) {
    /** Least length of a chunk in bytes. */
    static final long LEAST_CHUNK = 64;

    /**
     * @throws IllegalArgumentException if a number is out of range, trees are limited that are neither packed nor
     *     rings, an algorithm has a generator of trees that generates none, or {@link AlgorithmChoice#NCCL} has chunks
     */
    public AlgorithmConfig {
        Objects.requireNonNull(algorithm, "algorithm");
        if (maxTrees < 1) {
            throw new IllegalArgumentException("at most " + maxTrees + " trees or rings; it takes at least one");
        }
        if (chunkBytes < LEAST_CHUNK) {
            throw new IllegalArgumentException(
                    "chunks of " + chunkBytes + " bytes are too short; give at least " + LEAST_CHUNK);
        }
        if (maxTrees < Integer.MAX_VALUE && algorithm != AlgorithmChoice.PACKING && algorithm != AlgorithmChoice.RING) {
            throw new IllegalArgumentException(algorithm.label()
                    + " takes no number of trees; only packing takes one, and ring a number of rings");
        }
        if (trees != null && !algorithm.generatesTrees()) {
            throw new IllegalArgumentException(algorithm.label() + " takes no generator of trees; only "
                    + AlgorithmChoice.SINGLE_TREE.label() + " and " + AlgorithmChoice.MULTI_TREE.label() + " take one");
        }
        if (chunkBytes < Long.MAX_VALUE && algorithm == AlgorithmChoice.NCCL) {
            throw new IllegalArgumentException("nccl cuts data by itself; leave the length of chunks out");
        }
    }

    /** Returns an algorithm with the best number of trees, the configuration's generator and an open chunk length. */
    public static AlgorithmConfig of(AlgorithmChoice algorithm) {
        return new AlgorithmConfig(algorithm, Integer.MAX_VALUE, null, Long.MAX_VALUE);
    }

    /** Returns the same with another greatest number of trees or rings. */
    public AlgorithmConfig withMaxTrees(int most) {
        return new AlgorithmConfig(algorithm, most, trees, chunkBytes);
    }

    /** Returns the same with trees of a generator, or of the configuration's if it is null. */
    public AlgorithmConfig withTrees(@Nullable TreeGenerator generator) {
        return new AlgorithmConfig(algorithm, maxTrees, generator, chunkBytes);
    }

    /** Returns the same with another length of chunks. */
    public AlgorithmConfig withChunkBytes(long bytes) {
        return new AlgorithmConfig(algorithm, maxTrees, trees, bytes);
    }

    /** Returns the same with an open length of chunks. */
    AlgorithmConfig whole() {
        return cuts() ? withChunkBytes(Long.MAX_VALUE) : this;
    }

    /** Returns whether it gives the number of trees or rings, or the generator of trees. */
    public boolean choosesTrees() {
        return trees != null || maxTrees < Integer.MAX_VALUE;
    }

    /** Returns whether it gives the length of chunks. */
    public boolean cuts() {
        return chunkBytes < Long.MAX_VALUE;
    }

    /** Returns a request with this length of chunks, or the same request if the length is open. */
    CollectiveRequest cut(CollectiveRequest request) {
        return cuts()
                ? new CollectiveRequest(
                        request.collective(),
                        request.root(),
                        request.count(),
                        request.elementBytes(),
                        request.inPlace(),
                        chunkBytes)
                : request;
    }

    /**
     * Reads the text.
     *
     * @throws IllegalArgumentException if it is no choice
     */
    public static AlgorithmConfig parse(String text) {
        int at = text.indexOf('@');
        String before = at < 0 ? text : text.substring(0, at);
        int slash = before.indexOf('/');
        AlgorithmConfig named = of(named(slash < 0 ? before : before.substring(0, slash)));
        AlgorithmConfig whole = slash < 0
                ? named
                : named.algorithm.generatesTrees()
                        ? named.withTrees(generator(before.substring(slash + 1)))
                        : named.withMaxTrees(number(before.substring(slash + 1)));
        return at < 0 ? whole : whole.withChunkBytes(Bytes.parse(text.substring(at + 1)));
    }

    private static int number(String text) {
        try {
            return Integer.parseInt(text);
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException("'" + text + "' is no number of trees or rings", e);
        }
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof AlgorithmConfig config
                && algorithm == config.algorithm
                && maxTrees == config.maxTrees
                && trees == config.trees
                && chunkBytes == config.chunkBytes;
    }

    /** Spelled out, since the methods that records get by themselves take milliseconds at their first call. */
    @Override
    public int hashCode() {
        return 31 * (31 * (31 * algorithm.hashCode() + maxTrees) + Objects.hashCode(trees)) + Long.hashCode(chunkBytes);
    }

    private static AlgorithmChoice named(String name) {
        for (AlgorithmChoice choice : AlgorithmChoice.values()) {
            if (choice.label().equals(name)) {
                return choice;
            }
        }
        throw new IllegalArgumentException("no algorithm is called '" + name + "'");
    }

    private static TreeGenerator generator(String name) {
        for (TreeGenerator generator : TreeGenerator.values()) {
            if (generator.label().equals(name)) {
                return generator;
            }
        }
        throw new IllegalArgumentException("no generator of trees is called '" + name + "'");
    }

    /** Returns the text that {@link #parse} reads. */
    @Override
    public String toString() {
        return algorithm.label()
                + (maxTrees < Integer.MAX_VALUE ? "/" + maxTrees : "")
                + (trees == null ? "" : "/" + trees.label())
                + (cuts() ? "@" + Bytes.text(chunkBytes) : "");
    }
}
