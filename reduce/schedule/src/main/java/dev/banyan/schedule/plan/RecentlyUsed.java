package dev.banyan.schedule.plan;

import java.util.LinkedHashMap;
import java.util.SequencedMap;
import java.util.function.Supplier;

/** Answers by question. The answer that was unused for the longest time is forgotten when there are too many. */
final class RecentlyUsed<Q, A> {
    private final SequencedMap<Q, A> answers = new LinkedHashMap<>(16, 0.75f, true);
    private final int capacity;

    /** @param capacity greatest number of answers, at least 1 */
    RecentlyUsed(int capacity) {
        this.capacity = capacity;
    }

    /**
     * Returns the answer to a question.
     *
     * @param find finds an answer that is not known; may ask other questions meanwhile
     */
    A get(Q question, Supplier<A> find) {
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

    int size() {
        return answers.size();
    }
}
