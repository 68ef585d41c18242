package dev.banyan.gpuday;

/**
 * The words that a GPU sends to another one. All words of a pair differ, and so do those of different pairs of up to 16
 * GPUs: a word that arrives in a wrong place, twice, or from another GPU is found. None is 0, which marks a target that
 * nothing has arrived in.
 *
 * @param from ordinal of the GPU that has the words
 * @param to ordinal of the GPU that gets them
 */
record PairWords(int from, int to) {
    /** Arrays up to 2^24 words keep indices and pairs apart. */
    private static final int INDEX_BITS = 24;
    /** Odd, so that the product is different for different words and 0 for none. */
    private static final int MIX = 0x9E3779B1;

    void write(int[] words) {
        for (int index = 0; index < words.length; index++) {
            words[index] = word(index);
        }
    }

    /** Returns whether an array has each word in its place. */
    boolean areIn(int[] words) {
        for (int index = 0; index < words.length; index++) {
            if (words[index] != word(index)) {
                return false;
            }
        }
        return true;
    }

    private int word(int index) {
        return (((1 + 16 * from + to) << INDEX_BITS) + index) * MIX;
    }
}
