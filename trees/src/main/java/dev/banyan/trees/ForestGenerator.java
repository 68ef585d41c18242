package dev.banyan.trees;

import dev.banyan.topology.LinkMatrix;

/**
 * Builds one tree per wanted root over the links of a matrix. Implementations are immutable, safe for
 * use from any thread, and give the same forest for the same matrix and roots every time.
 */
public interface ForestGenerator {
    /** The algorithm's name as the command takes it, e.g. {@code kernighan-lin}. */
    String name();

    /**
     * Builds trees one after another; how a tree loads its links is taken into account by the later
     * ones.
     *
     * @param matrix links between at least one device
     * @param roots roots of the trees, 0..n-1; their order may decide which tree gets the better links
     * @return one tree per root, in that order, of equal shares
     * @throws IllegalArgumentException if a root is out of range, there is no root, or the links do not
     *     connect the devices
     */
    Forest generate(LinkMatrix matrix, int... roots);
}
