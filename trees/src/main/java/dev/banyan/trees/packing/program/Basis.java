package dev.banyan.trees.packing.program;

import java.util.Arrays;
import java.util.List;

/** Where a run of {@link PackingSimplex} has come to: as many trees as wires that they fill. */
final class Basis {
    private final List<RoutedTree> trees;
    private final double[] amounts;
    private final int[] fullWires;

    Basis(List<RoutedTree> trees, double[] amounts, int[] fullWires) {
        this.trees = List.copyOf(trees);
        this.amounts = amounts.clone();
        this.fullWires = fullWires.clone();
    }

    List<RoutedTree> trees() {
        return trees;
    }

    /** Amount of a tree in widest capacities, rounded. */
    double amount(int tree) {
        return amounts[tree];
    }

    /** Sum of all amounts, rounded. */
    double total() {
        return Arrays.stream(amounts).sum();
    }

    /** A wire that is full, ascending; there are as many as trees. */
    int fullWire(int index) {
        return fullWires[index];
    }

    /** How often each tree (column) crosses each full wire (row); a new array. */
    int[][] matrix() {
        int size = trees.size();
        int[][] matrix = new int[size][size];
        for (int column = 0; column < size; column++) {
            RoutedTree tree = trees.get(column);
            int used = 0;
            for (int row = 0; row < size; row++) {
                while (used < tree.wiresUsed() && tree.wire(used) < fullWires[row]) {
                    used++;
                }
                if (used < tree.wiresUsed() && tree.wire(used) == fullWires[row]) {
                    matrix[row][column] = tree.uses(used);
                }
            }
        }
        return matrix;
    }
}
