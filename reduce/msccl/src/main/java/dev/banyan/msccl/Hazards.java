package dev.banyan.msccl;

import dev.banyan.schedule.Location;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.Space;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The actions that each action has to wait for on its own ranks: the writer of what it reads, the readers and the
 * writer of what it overwrites. Between ranks a transfer itself is the waiting. A transfer has two sides, that of its
 * sender and that of its target; other actions have the latter only.
 */
final class Hazards {
    static final int SENDER = 0;
    static final int TARGET = 1;

    /** One side of an action. */
    record Side(int action, int side) {}

    private static final class Access {
        final List<Side> readers = new ArrayList<>(2);
        /** At most one. */
        List<Side> writer = List.of();
    }

    private final Schedule schedule;
    private final long unit;
    private final Map<Location, Access> accesses = new HashMap<>();
    private final List<List<Side>> before;
    private final int[] levels;

    Hazards(Schedule schedule, long unit, List<Action> actions) {
        this.schedule = schedule;
        this.unit = unit;
        before = new ArrayList<>(2 * actions.size());
        levels = new int[actions.size()];
        for (int i = 0; i < actions.size(); i++) {
            follow(i, actions.get(i));
        }
    }

    /** Sides of earlier actions on the same rank that must be done before; may name one twice. */
    List<Side> before(int action, int side) {
        return before.get(2 * action + side);
    }

    /** Number of actions in the longest chain that ends before this one. */
    int level(int action) {
        return levels[action];
    }

    private void follow(int index, Action action) {
        Side sender = new Side(index, SENDER);
        Side target = new Side(index, TARGET);
        Access source = access(action.source());
        Access written = access(action.target());
        List<Side> beforeSend = new ArrayList<>();
        List<Side> beforeWrite = new ArrayList<>();
        if (action.isTransfer()) {
            beforeSend.addAll(source.writer);
            source.readers.add(sender);
        } else {
            beforeWrite.addAll(source.writer);
            source.readers.add(target);
        }
        if (action.operand() != null) {
            Access operand = access(action.operand());
            beforeWrite.addAll(operand.writer);
            operand.readers.add(target);
        }
        beforeWrite.addAll(written.writer);
        beforeWrite.addAll(written.readers);
        beforeWrite.removeIf(target::equals);
        written.readers.clear();
        written.writer = List.of(target);
        before.add(beforeSend);
        before.add(beforeWrite);
        beforeSend.forEach(side -> levels[index] = Math.max(levels[index], levels[side.action] + 1));
        beforeWrite.forEach(side -> levels[index] = Math.max(levels[index], levels[side.action] + 1));
    }

    private Access access(Location location) {
        Location place = location;
        if (schedule.inPlace() && location.space() != Space.SCRATCH) {
            Location inBytes = new Location(location.rank(), location.space(), location.offset() * unit);
            place = new Location(location.rank(), Space.INPUT, schedule.offsetInPlace(inBytes) / unit);
        }
        return accesses.computeIfAbsent(place, _ -> new Access());
    }
}
