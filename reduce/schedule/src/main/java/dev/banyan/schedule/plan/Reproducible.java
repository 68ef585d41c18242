package dev.banyan.schedule.plan;

import java.util.Arrays;

/** The requirements of BANYAN_REPRODUCIBLE on sums of floating-point numbers. */
public enum Reproducible {
    /** The order of the schedule: the bits depend on it. */
    NO("0"),
    /** The order of ranks, in every schedule. */
    RANK_ORDER("1"),
    /** Sums without rounding in between, rounded once: no order changes them. */
    EXACT("exact");

    private final String text;

    Reproducible(String text) {
        this.text = text;
    }

    static Reproducible parse(String text) {
        return Arrays.stream(values())
                .filter(value -> value.text.equals(text))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("not known"));
    }

    /** Returns the value as the setting has it. */
    @Override
    public String toString() {
        return text;
    }
}
