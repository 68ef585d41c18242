package dev.banyan.schedule.internal.program;

import java.util.List;

/**
 * The work of a block on each slice of a lane: it waits for the channels that lead to it, loads all inputs, combines
 * them in their order, stores the result to all outputs, and signals the other ends of its channels. Elements of 16
 * bits are combined in 32 bits and rounded once.
 *
 * @param rank the rank whose device does it
 * @param inputs what it loads; none if it only waits for what others store into its rank's buffer
 * @param outputs where it stores; none exactly if there are no inputs
 * @param completes whether its result is the reduction of all ranks' elements, by which a mean is taken once
 * @param step index in the chunk of the schedule's step that it carries out, for messages; of a move that sends or
 *     copies an input, the first step that takes it
 */
public record Move(int rank, List<Operand> inputs, List<Operand> outputs, boolean completes, int step) {
    public Move {
        inputs = List.copyOf(inputs);
        outputs = List.copyOf(outputs);
        if (rank < 0 || inputs.isEmpty() != outputs.isEmpty()) {
            throw new IllegalArgumentException(
                    "a move of rank " + rank + " from " + inputs + " to " + outputs + "; it takes both or none");
        }
    }
}
