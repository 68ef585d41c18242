package dev.banyan.schedule;

import java.util.List;

/** A schedule that does not do what its collective says, or not in every order that it allows. */
public final class ScheduleException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final transient List<Violation> violations;

    ScheduleException(Schedule schedule, List<Violation> violations) {
        super("the " + schedule.algorithm() + " schedule for "
                + schedule.collective().label() + " over "
                + schedule.ranks() + " ranks is wrong: " + violations.getFirst()
                + (violations.size() == 1 ? "" : " (and " + (violations.size() - 1) + " more)"));
        this.violations = List.copyOf(violations);
    }

    /** What is wrong: the first violations that were found, at least one, at most 20. */
    public List<Violation> violations() {
        return violations;
    }
}
