package dev.banyan.study.text;

import dev.banyan.schedule.plan.AlgorithmConfig;

/** Choices of algorithms as tables name them. */
public final class ChoiceText {
    private ChoiceText() {}

    /** Returns the name of an algorithm, with the generator of its trees if it is given: {@code multi-tree (exact)}. */
    public static String name(AlgorithmConfig choice) {
        return choice.trees() == null
                ? choice.toString()
                : choice.algorithm().label() + " (" + choice.trees().label() + ")";
    }

    /** Returns the text of the configuration with a rounded length of chunks, e.g. {@code packing/8@512K}. */
    public static String of(AlgorithmConfig choice) {
        return choice.withChunkBytes(Long.MAX_VALUE)
                + (choice.cuts() ? "@" + new ByteSize(choice.chunkBytes()).rounded() : "");
    }
}
