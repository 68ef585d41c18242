package dev.banyan.trees.packing.allreduce;

import java.util.Arrays;

/**
 * The ranks that a growing tree can take next, by price: a binary heap that knows the place of each rank. The hard part
 * of a price comes before the soft part; of equal prices the lower rank comes first. O(log n) per call. Not safe for
 * use from several threads at once.
 */
final class CheapestRanks {
    private static final int ABSENT = -1;

    private final int[] heap;
    /** By rank: its place in the heap. */
    private final int[] places;

    private final int[] hard;
    private final double[] soft;
    private int size;

    /** @param ranks number of ranks, none of which is in the heap */
    CheapestRanks(int ranks) {
        heap = new int[ranks];
        places = new int[ranks];
        hard = new int[ranks];
        soft = new double[ranks];
        Arrays.fill(places, ABSENT);
    }

    /**
     * Adds a rank, or lowers its price.
     *
     * @return whether the rank was not there, or its price was higher
     */
    boolean offer(int rank, int hardPrice, double softPrice) {
        int place = places[rank];
        if (place == ABSENT) {
            place = size++;
        } else if (hardPrice > hard[rank] || (hardPrice == hard[rank] && !(softPrice < soft[rank]))) {
            return false;
        }
        hard[rank] = hardPrice;
        soft[rank] = softPrice;
        for (int above = (place - 1) / 2; place > 0 && isBefore(rank, heap[above]); above = (place - 1) / 2) {
            put(heap[above], place);
            place = above;
        }
        put(rank, place);
        return true;
    }

    /** Removes the cheapest rank and returns it. */
    int poll() {
        int cheapest = heap[0];
        places[cheapest] = ABSENT;
        int moved = heap[--size];
        if (size > 0) {
            int place = 0;
            for (int below = 1; below < size; below = 2 * place + 1) {
                if (below + 1 < size && isBefore(heap[below + 1], heap[below])) {
                    below++;
                }
                if (!isBefore(heap[below], moved)) {
                    break;
                }
                put(heap[below], place);
                place = below;
            }
            put(moved, place);
        }
        return cheapest;
    }

    private void put(int rank, int place) {
        heap[place] = rank;
        places[rank] = place;
    }

    private boolean isBefore(int rank, int other) {
        if (hard[rank] != hard[other]) {
            return hard[rank] < hard[other];
        }
        return soft[rank] < soft[other] || (soft[rank] == soft[other] && rank < other);
    }
}
