package dev.banyan.schedule;

import dev.banyan.BanyanException;
import java.util.List;

/** Thrown for a schedule that does not do what its collective says in every order that its dependencies allow. */
public final class ScheduleException extends BanyanException {
    private static final long serialVersionUID = 1L;

    private final transient List<Violation> violations;

    ScheduleException(Schedule schedule, List<Violation> violations) {
        super("the " + schedule.algorithm() + " schedule for "
                + schedule.collective().label() + " over "
                + schedule.ranks() + " ranks is wrong: " + violations.getFirst()
                + (violations.size() == 1 ? "" : " (and " + (violations.size() - 1) + " more)"));
        this.violations = List.copyOf(violations);
    }

    /** Returns the first violations that were found, at least one, at most 20. */
    public List<Violation> violations() {
        return violations;
    }
}
