package dev.banyan.config.internal;

import java.util.LinkedHashMap;
import java.util.SequencedMap;
import java.util.function.Supplier;

/**
 * A cache of values by key. If there are too many, it drops the value that was unused for the longest time. Not safe
 * for use from several threads at once.
 */
public final class RecentlyUsed<Q, A> {
    private final SequencedMap<Q, A> answers = new LinkedHashMap<>(16, 0.75f, true);
    private final int capacity;

    /** @param capacity greatest number of values, at least 1 */
    public RecentlyUsed(int capacity) {
        this.capacity = capacity;
    }

    /**
     * Returns the value of a key.
     *
     * @param find computes a value that the cache does not have; may get other values meanwhile
     */
    public A get(Q question, Supplier<A> find) {
        A known = answers.get(question);
        if (known == null) {
            known = find.get();
            answers.put(question, known);
            if (answers.size() > capacity) {
                answers.pollFirstEntry();
            }
        }
        return known;
    }

    /** Returns the number of values. */
    public int size() {
        return answers.size();
    }
}
