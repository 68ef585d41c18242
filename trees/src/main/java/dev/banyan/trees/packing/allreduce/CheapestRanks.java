package dev.banyan.trees.packing.allreduce;

import java.util.Arrays;

/**
 * The ranks that a growing tree can take next, by price; of equal prices the lower rank comes first. Few ranks are
 * scanned; more are a binary heap that knows the place of each rank, O(log n) per call. Not safe for use from several
 * threads at once.
 */
final class CheapestRanks {
    private static final int MOST_SCANNED = 16;
    private static final int ABSENT = -1;
    private static final long NO_PRICE = Long.MAX_VALUE;

    /** By rank: its price; that of a rank that is not there is above all others. */
    private final long[] prices;

    private final boolean scanned;
    private final int[] heap;
    /** By rank: its place in the heap. */
    private final int[] places;

    private int size;

    /** @param ranks number of ranks, none of which can be taken yet */
    CheapestRanks(int ranks) {
        scanned = ranks <= MOST_SCANNED;
        prices = new long[ranks];
        heap = new int[ranks];
        places = new int[ranks];
        Arrays.fill(prices, NO_PRICE);
        Arrays.fill(places, ABSENT);
    }

    /**
     * Adds a rank, or lowers its price.
     *
     * @return whether the rank was not there, or its price was higher
     */
    boolean offer(int rank, long price) {
        if (price >= prices[rank]) {
            return false;
        }
        prices[rank] = price;
        if (!scanned) {
            rise(rank);
        }
        return true;
    }

    private void rise(int rank) {
        int place = places[rank] == ABSENT ? size++ : places[rank];
        for (int above = (place - 1) / 2; place > 0 && isBefore(rank, heap[above]); above = (place - 1) / 2) {
            put(heap[above], place);
            place = above;
        }
        put(rank, place);
    }

    /** Removes the cheapest rank and returns it. */
    int poll() {
        int cheapest = scanned ? scan() : pollHeap();
        prices[cheapest] = NO_PRICE;
        return cheapest;
    }

    private int scan() {
        int cheapest = 0;
        long least = prices[0];
        for (int rank = 1; rank < prices.length; rank++) {
            long price = prices[rank];
            if (price < least) {
                least = price;
                cheapest = rank;
            }
        }
        return cheapest;
    }

    private int pollHeap() {
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

    /** Removes all ranks. */
    void clear() {
        if (scanned) {
            Arrays.fill(prices, NO_PRICE);
        }
        while (size > 0) {
            int rank = heap[--size];
            prices[rank] = NO_PRICE;
            places[rank] = ABSENT;
        }
    }

    private void put(int rank, int place) {
        heap[place] = rank;
        places[rank] = place;
    }

    private boolean isBefore(int rank, int other) {
        return prices[rank] < prices[other] || (prices[rank] == prices[other] && rank < other);
    }
}
