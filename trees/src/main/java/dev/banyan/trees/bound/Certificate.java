package dev.banyan.trees.bound;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.commons.numbers.fraction.BigFraction;

/** Why no collective can be faster than a bound; anybody can check it by arithmetic alone. */
public sealed interface Certificate {
    /**
     * Proves a bound of an allreduce over full-duplex direct links: data must cross between the parts at least (parts -
     * 1) times each way, so the rate is at most the one-way bandwidth of all links between them over (parts - 1).
     *
     * @param parts at least two sets that hold each rank once, ranks ascending, parts by their first rank
     */
    record Partition(List<List<Integer>> parts) implements Certificate {
        public Partition {
            List<List<Integer>> copies = new ArrayList<>();
            for (List<Integer> part : parts) {
                copies.add(List.copyOf(part));
            }
            parts = List.copyOf(copies);
        }
    }

    /**
     * Proves a bound of a collective whose data must leave (or, for reductions, enter) a set of nodes.
     *
     * @param nodes node indices of the network, ascending
     * @param entering whether the arcs into the set limit the rate, not those out of it
     */
    record Cut(List<Integer> nodes, boolean entering) implements Certificate {
        public Cut {
            nodes = List.copyOf(nodes);
        }
    }

    /**
     * Proves a bound of any collective, by linear programming duality: with these prices per unit of capacity, every
     * way to carry one unit of data costs at least 1, so the rate is at most the price of the whole machine.
     *
     * @param prices price of each arc that is not free, by the arc's index in the network, exact
     */
    record Prices(Map<Integer, BigFraction> prices) implements Certificate {
        public Prices {
            prices = Collections.unmodifiableSortedMap(new TreeMap<>(prices)); // the same order every time
        }
    }
}
