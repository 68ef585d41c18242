package dev.banyan.cuda;

import java.util.List;

/** One node of the graph, for each piece of a {@link Route}. */
sealed interface Operation {
    /** The rank whose device carries it out. */
    int rank();

    List<Operand> sources();

    Operand target();

    /** Operations of the same piece that must be done before, by their indices. */
    List<Integer> after();

    /** Step of the schedule's chunk that it belongs to. */
    int step();

    /**
     * A copy.
     *
     * @param last whether the step is done with it
     */
    record Copy(int rank, Operand source, Operand target, List<Integer> after, int step, boolean last)
            implements Operation {
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
            implements Operation {}

    /** Whether the step is done with it. */
    boolean last();
}
