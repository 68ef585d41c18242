package dev.banyan.trees.balanced;

/** Builds trees over the links that it was made for, as they are loaded at the time of the call. */
@FunctionalInterface
interface TreeBuilder {
    /**
     * Looks for a tree.
     *
     * @param root root of the tree
     * @param parents receives each device's parent, -1 for the root; undefined where none was found
     * @return whether it found one
     */
    boolean build(int root, int[] parents);

    /**
     * Returns how many sequences of trees to build in all, the best of which is kept; called again after each sequence.
     * It is 1 unless the builder makes random choices.
     */
    default int starts() {
        return 1;
    }
}
