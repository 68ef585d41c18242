package dev.banyan.dlc.internal.run;

import dev.banyan.dlc.DlcTrace;
import dev.banyan.dlc.internal.format.DlcMessage;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A run, as some of its nodes recorded it. What initialises keys is not part of its iterations.
 *
 * @param traces one for each of those nodes
 */
public record DlcRun(List<DlcTrace> traces) {
    public DlcRun {
        traces = List.copyOf(traces);
    }

    /** Everything about pushes and pulls, trace by trace. */
    public Stream<DlcMessage> messages() {
        return traces.stream().flatMap(DlcTrace::messages);
    }

    /** Iterations, by {@link DlcMessage#iteration()}, in which gradients were pushed. */
    public Set<Integer> iterations() {
        return messages()
                .filter(message -> message.operation().message() == 0 && !message.initialises())
                .map(DlcMessage::iteration)
                .collect(Collectors.toUnmodifiableSet());
    }
}
