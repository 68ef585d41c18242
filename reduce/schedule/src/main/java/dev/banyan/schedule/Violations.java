package dev.banyan.schedule;

import java.util.ArrayList;
import java.util.List;

/** Collects violations, up to a number that a person can read. */
final class Violations {
    private static final int MOST = 20;

    private final List<Violation> list = new ArrayList<>();

    void add(int chunk, int step, String message) {
        if (list.size() < MOST) {
            list.add(new Violation(chunk, step, message));
        }
    }

    void add(String message) {
        add(Violation.NONE, Violation.NONE, message);
    }

    boolean isEmpty() {
        return list.isEmpty();
    }

    boolean isFull() {
        return list.size() == MOST;
    }

    List<Violation> list() {
        return list;
    }
}
