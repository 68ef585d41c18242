package dev.banyan.study.text;

import dev.banyan.schedule.plan.AlgorithmConfig;
import java.util.Arrays;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Choices of algorithms as tables name them. */
public final class ChoiceText {
    private ChoiceText() {}

    /** Returns the name of an algorithm, with the generator of its trees if it is given: {@code multi-tree (exact)}. */
    public static String name(AlgorithmConfig choice) {
        return name(algorithm(choice), label(choice));
    }

    /** Returns the name of an algorithm, with the generator of its trees or other words in brackets unless null. */
    public static String name(String algorithm, @Nullable String words) {
        return words == null ? algorithm : algorithm + " " + inBrackets(words);
    }

    /** Returns the name of an algorithm without the generator of its trees: {@code ring/1}. */
    public static String algorithm(AlgorithmConfig choice) {
        return choice.withTrees(null).toString();
    }

    /** Returns the generator of an algorithm's trees in brackets, or an empty text if it is not given. */
    public static String generator(AlgorithmConfig choice) {
        String label = label(choice);
        return label == null ? "" : inBrackets(label);
    }

    private static @Nullable String label(AlgorithmConfig choice) {
        return choice.trees() == null ? null : choice.trees().label();
    }

    private static String inBrackets(String generator) {
        return "(" + generator + ")";
    }

    /**
     * Returns the text of what a call takes: an algorithm, or those of a sum's parts with + between. Lengths of chunks
     * are rounded, and left out where they are no shorter than the call.
     *
     * @param bytes of the call
     */
    public static String of(String choice, long bytes) {
        return Arrays.stream(choice.split("\\+"))
                .map(AlgorithmConfig::parse)
                .map(part -> of(part.chunkBytes() < bytes ? part : part.withChunkBytes(Long.MAX_VALUE)))
                .collect(Collectors.joining("+"));
    }

    /** Returns the text of the configuration with a rounded length of chunks, e.g. {@code packing/8@512K}. */
    public static String of(AlgorithmConfig choice) {
        return choice.withChunkBytes(Long.MAX_VALUE)
                + (choice.cuts() ? "@" + new ByteSize(choice.chunkBytes()).rounded() : "");
    }
}
