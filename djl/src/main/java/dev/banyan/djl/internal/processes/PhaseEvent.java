package dev.banyan.djl.internal.processes;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** Records a phase of a training step over several processes, on the trainer's thread. */
@Name("dev.banyan.TrainingPhase")
@Label("Training Phase")
@Description("A part of a training step in one process")
@Category("Banyan")
@StackTrace(false)
public final class PhaseEvent extends Event {
    @Label("Phase")
    String phase = "";

    /** Begins a phase. */
    public static PhaseEvent begin(String phase) {
        PhaseEvent event = new PhaseEvent();
        event.phase = phase;
        event.begin();
        return event;
    }

    /** Ends the phase. */
    public void done() {
        end();
        if (shouldCommit()) {
            commit();
        }
    }
}
