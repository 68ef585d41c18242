package dev.banyan.djl.internal.engine;

import ai.djl.training.evaluator.Evaluator;
import dev.banyan.djl.internal.processes.PhaseEvent;
import dev.banyan.djl.internal.processes.Processes;
import dev.banyan.reduce.internal.Completions;
import dev.banyan.schedule.type.DataType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;

/**
 * The evaluators of a trainer. They exchange their values together, since listeners read the accumulators of one name
 * from all of them, one after another. Not safe for use from several threads.
 */
public final class GlobalEvaluators {
    private final Processes processes;
    private final List<GlobalEvaluator> members = new ArrayList<>();
    /** A number per member. The garbage collector frees it, as a failed exchange may still access it. */
    private MemorySegment numbers = MemorySegment.NULL;

    public GlobalEvaluators(Processes processes) {
        this.processes = processes;
    }

    /** Returns an evaluator that reports the averages over all processes of this process's evaluator. */
    public GlobalEvaluator add(Evaluator own) {
        GlobalEvaluator member = new GlobalEvaluator(own, this);
        members.add(member);
        numbers = Arena.ofAuto().allocate(ValueLayout.JAVA_DOUBLE, members.size());
        return member;
    }

    /** Averages an accumulator of all members that have it and lack its average. All processes call it. */
    void exchange(String key) {
        PhaseEvent event = PhaseEvent.begin("means of metrics");
        List<GlobalEvaluator> asking =
                members.stream().filter(member -> member.lacks(key)).toList();
        for (int i = 0; i < asking.size(); i++) {
            numbers.setAtIndex(ValueLayout.JAVA_DOUBLE, i, asking.get(i).ownAccumulator(key));
        }
        Completions.join(processes.average(numbers, asking.size(), DataType.F64));
        for (int i = 0; i < asking.size(); i++) {
            asking.get(i).setMean(key, (float) numbers.getAtIndex(ValueLayout.JAVA_DOUBLE, i));
        }
        event.done();
    }
}
