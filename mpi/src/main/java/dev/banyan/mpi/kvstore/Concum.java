package dev.banyan.mpi.kvstore;

import dev.banyan.kvstore.KeyInfo;
import dev.banyan.kvstore.LinkedSum;
import dev.banyan.kvstore.StoreLink;
import dev.banyan.kvstore.engine.Completion;
import dev.banyan.kvstore.engine.DependencyEngine;
import dev.banyan.kvstore.engine.Variable;
import dev.banyan.mpi.ProcessGroup;
import dev.banyan.mpi.World;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Several groups of processes, each with a thread that calls MPI; a key's hash says which is its group. After every so
 * many sums all wait for a barrier, so that no more are under way. Within a group sums go in the order in which they
 * were pushed, between groups in any. There are no more groups than a process has processors: threads that wait in MPI
 * spin and take turns at moving the data of all, so on fewer processors they are in each other's way. Two processes on
 * two processors took more than twice as long with 4 threads as with one.
 */
final class Concum implements StoreLink {
    /** Assumed, not tuned. */
    private static final int MOST_GROUPS = 4;

    private final KeySums sums;
    private final DependencyEngine engine;
    private final int outstanding;
    private final List<ProcessGroup> groups;
    /** One for each group, which its sums mutate. */
    private final List<Variable> turns;
    /** For the barriers. */
    private final ProcessGroup gate;
    /** Compares the order of all sums, which run in different groups; null if nobody wants that. */
    private final @Nullable ProcessGroup witness;

    private final Variable order;
    private int pushed;

    Concum(KeySums sums, DependencyEngine engine, int outstanding) {
        this.sums = sums;
        this.engine = engine;
        this.outstanding = outstanding;
        groups = IntStream.range(0, Math.min(Math.min(outstanding, MOST_GROUPS), processors(sums)))
                .mapToObj(_ -> sums.group().duplicate())
                .toList();
        turns = groups.stream().map(_ -> engine.variable()).toList();
        gate = sums.group().duplicate();
        witness = sums.world().config().get(World.CHECK_ORDER) ? sums.group().duplicate() : null;
        order = engine.variable();
    }

    /** Least share of a process in its machine's, at least 1; the same in all, so that all have the same groups. */
    private static int processors(KeySums sums) {
        int mine = Runtime.getRuntime().availableProcessors()
                / sums.world().sameMachine().size();
        return (int) sums.group().combine(Math.max(1, mine), ReduceOp.MIN);
    }

    @Override
    public boolean waitsForPull() {
        return false;
    }

    @Override
    public void first(KeyInfo key, MemorySegment value) {
        sums.first(key, value);
    }

    @Override
    public void push(LinkedSum sum) {
        String name = KeySums.name(sum.key());
        if (witness != null) {
            engine.pushDeferred(
                    sum.before(() -> witness.agreeAsync("sums up " + name + " of "
                            + sum.key().count() + " " + sum.key().type())),
                    List.of(),
                    List.of(sum.variable(), order));
        }
        int group = Math.floorMod(sum.key().key().name().hashCode(), groups.size());
        sums.push(engine, sum, groups.get(group), turns.get(group));
        pushed++;
        if (pushed % outstanding == 0) {
            engine.pushDeferred(this::pass, List.of(), turns);
        }
    }

    /** The barrier comes right after its sums, so that it is over when the next gradient is there. */
    private void pass(Completion completion) {
        var _ = gate.barrierAsync().whenComplete((passed, failure) -> {
            if (failure == null) {
                completion.done();
            } else {
                completion.failed(failure);
            }
        });
    }

    @Override
    public void close() {
        groups.forEach(ProcessGroup::close);
        gate.close();
        if (witness != null) {
            witness.close();
        }
        sums.close();
    }
}
