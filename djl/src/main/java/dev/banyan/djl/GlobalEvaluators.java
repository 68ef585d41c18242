package dev.banyan.djl;

import ai.djl.training.evaluator.Evaluator;
import dev.banyan.reduce.internal.Completions;
import dev.banyan.schedule.type.DataType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;

/**
 * The evaluators of a trainer, which exchange their values together: listeners ask all of them for accumulators of one
 * name, one after another. Not safe for use from several threads.
 */
final class GlobalEvaluators {
    private final Processes processes;
    private final List<GlobalEvaluator> members = new ArrayList<>();
    /** A number for each member; an exchange that failed may still use it, so it isn't freed by hand. */
    private MemorySegment numbers = MemorySegment.NULL;

    GlobalEvaluators(Processes processes) {
        this.processes = processes;
    }

    /** One that tells the means over all processes of what this process's says. */
    GlobalEvaluator add(Evaluator own) {
        GlobalEvaluator member = new GlobalEvaluator(own, this);
        members.add(member);
        numbers = Arena.ofAuto().allocate(ValueLayout.JAVA_DOUBLE, members.size());
        return member;
    }

    /** Gives all members that don't know it the mean of an accumulator that they have; all processes call it. */
    void exchange(String key) {
        PhaseEvent event = PhaseEvent.begin("means of metrics");
        List<GlobalEvaluator> asking =
                members.stream().filter(member -> member.lacks(key)).toList();
        for (int i = 0; i < asking.size(); i++) {
            numbers.setAtIndex(ValueLayout.JAVA_DOUBLE, i, asking.get(i).ownAccumulator(key));
        }
        Completions.join(processes.average(numbers, asking.size(), DataType.F64));
        for (int i = 0; i < asking.size(); i++) {
            asking.get(i).learn(key, (float) numbers.getAtIndex(ValueLayout.JAVA_DOUBLE, i));
        }
        event.done();
    }
}
