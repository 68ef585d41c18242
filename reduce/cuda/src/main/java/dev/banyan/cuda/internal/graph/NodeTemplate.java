package dev.banyan.cuda.internal.graph;

import dev.banyan.cuda.internal.ptx.Kernel;
import java.util.List;

/** A node of a graph that every piece of a {@link Route} has. */
sealed interface NodeTemplate {
    /** Returns the rank whose device carries it out. */
    int rank();

    List<Operand> sources();

    Operand target();

    /** Returns the indices of the nodes of the same piece that must be done before. */
    List<Integer> after();

    /** Returns the step of the schedule's chunk that it belongs to. */
    int step();

    /**
     * A copy.
     *
     * @param last whether the step is done with it
     */
    record Copy(int rank, Operand source, Operand target, List<Integer> after, int step, boolean last)
            implements NodeTemplate {
        @Override
        public List<Operand> sources() {
            return List.of(source);
        }
    }

    /**
     * A kernel.
     *
     * @param divisor what the result is divided by; 0 for a kernel without that parameter
     */
    record Launch(
            int rank,
            Kernel kernel,
            List<Operand> sources,
            Operand target,
            int divisor,
            List<Integer> after,
            int step,
            boolean last)
            implements NodeTemplate {}

    /** Returns whether the step is done with it. */
    boolean last();
}
