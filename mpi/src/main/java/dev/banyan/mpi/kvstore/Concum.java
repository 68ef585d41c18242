package dev.banyan.mpi.kvstore;

import dev.banyan.kvstore.LinkedSum;
import dev.banyan.kvstore.internal.engine.Completion;
import dev.banyan.kvstore.internal.engine.DependencyEngine;
import dev.banyan.kvstore.internal.engine.Variable;
import dev.banyan.mpi.ProcessGroup;
import dev.banyan.mpi.World;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.type.ReduceOp;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Several groups of processes, each with a thread that calls MPI; the hash of a key chooses its group. A barrier
 * follows each set of BANYAN_OUTSTANDING sums, so that no more are in flight. A group runs its sums in the order of the
 * pushes; groups are independent of each other. There are at most as many groups as a process has processors, since
 * threads that wait in MPI spin and move the data of all calls in turns, so that more threads than processors impede
 * each other: two processes on two processors took more than twice as long with 4 threads as with one.
 */
final class Concum extends ProcessLink {
    /** Assumed, not tuned. */
    private static final int MOST_GROUPS = 4;

    private final int outstanding;
    private final List<ProcessGroup> groups;
    /** One variable for each group, which its sums mutate. */
    private final List<Variable> turns;
    /** Runs the barriers. */
    private final ProcessGroup gate;
    /** Compares the order of all sums, which run in different groups; null if BANYAN_CHECK_ORDER is off. */
    private final @Nullable ProcessGroup witness;

    private final Variable order;
    private int pushed;

    Concum(World world, Communicator communicator, DependencyEngine engine) {
        super(world, communicator, engine);
        outstanding = communicator.config().get(World.OUTSTANDING);
        groups = IntStream.range(0, Math.min(Math.min(outstanding, MOST_GROUPS), processors()))
                .mapToObj(_ -> duplicate())
                .toList();
        turns = groups.stream().map(_ -> engine.variable()).toList();
        gate = duplicate();
        witness = world.config().get(World.CHECK_ORDER) ? duplicate() : null;
        order = engine.variable();
    }

    /**
     * Returns the least share of a process in the processors of its machine, at least 1. It is the same in all
     * processes, so that all have the same groups.
     */
    private int processors() {
        int mine =
                Runtime.getRuntime().availableProcessors() / world.sameMachine().size();
        return (int) group.combine(Math.max(1, mine), ReduceOp.MIN);
    }

    @Override
    public void push(LinkedSum sum) {
        String name = name(sum.key());
        if (witness != null) {
            engine.pushDeferred(
                    sum.before(() -> witness.agreeAsync("sums up " + name + " of "
                            + sum.key().count() + " " + sum.key().type())),
                    List.of(),
                    List.of(sum.variable(), order));
        }
        int chosen = Math.floorMod(sum.key().key().name().hashCode(), groups.size());
        push(sum, groups.get(chosen), turns.get(chosen));
        pushed++;
        if (pushed % outstanding == 0) {
            engine.pushDeferred(this::pass, List.of(), turns);
        }
    }

    /** Waits at the barrier. It comes right after its sums, so that it has ended when the next gradient is ready. */
    private void pass(Completion completion) {
        var _ = gate.barrierAsync().whenComplete((passed, failure) -> {
            if (failure == null) {
                completion.done();
            } else {
                completion.failed(failure);
            }
        });
    }
}
