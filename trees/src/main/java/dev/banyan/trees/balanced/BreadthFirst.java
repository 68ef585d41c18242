package dev.banyan.trees.balanced;

import java.util.Arrays;

/** The tree of {@link Shallow} for one root. O(n^2). */
final class BreadthFirst implements TreeBuilder {
    private final LinkUse links;
    private final int[] layers;
    private final int[] order;
    private final int[] childCounts;

    BreadthFirst(LinkUse links) {
        this.links = links;
        layers = new int[links.size()];
        order = new int[links.size()];
        childCounts = new int[links.size()];
    }

    @Override
    public boolean build(int root, int[] parents) {
        int n = links.size();
        long[] values = links.values();
        Arrays.fill(layers, -1);
        Arrays.fill(childCounts, 0);
        parents[root] = -1;
        layers[root] = 0;
        order[0] = root;
        int tail = 1;
        for (int head = 0; head < tail; head++) {
            for (int device = 0; device < n; device++) {
                if (layers[device] < 0 && values[order[head] * n + device] > 0) {
                    layers[device] = layers[order[head]] + 1;
                    order[tail++] = device;
                }
            }
        }
        for (int i = 1; i < tail; i++) {
            int device = order[i];
            int best = -1;
            long bestValue = 0;
            for (int parent = 0; parent < n; parent++) {
                long value = values[parent * n + device];
                if (layers[parent] == layers[device] - 1
                        && (value > bestValue
                                || (value == bestValue && value > 0 && childCounts[parent] < childCounts[best]))) {
                    best = parent;
                    bestValue = value;
                }
            }
            parents[device] = best;
            childCounts[best]++;
        }
        return tail == n;
    }
}
