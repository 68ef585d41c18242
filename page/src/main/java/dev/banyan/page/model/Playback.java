package dev.banyan.page.model;

import java.util.List;

/**
 * The transfers of a simulated call, by ascending start; transfer i is the i-th entry of each array.
 *
 * @param algorithm index of the algorithm
 * @param bytes size of the call
 * @param longestBytes length of the longest transfer shown
 * @param joined whether transfers shown stand for several shorter ones
 * @param us time of the call
 * @param routes directed links that a transfer crosses, with its ranks: {@code [from, to, link, ...]}
 * @param route index of the route
 * @param start in 0.01 us, as the difference to the transfer before
 * @param length time from the first byte's departure to the last one's, in 0.01 us
 * @param delay time from the last byte's departure to its arrival, in 0.01 us
 * @param tree number of the tree, from 0: chunks with the same steps are of the same tree
 * @param sum 1 for partial sums on their way to a root, 0 for results and copies
 */
public record Playback(
        int algorithm,
        long bytes,
        long longestBytes,
        boolean joined,
        double us,
        List<List<Integer>> routes,
        List<Integer> route,
        List<Integer> start,
        List<Integer> length,
        List<Integer> delay,
        List<Integer> tree,
        List<Integer> sum) {}
