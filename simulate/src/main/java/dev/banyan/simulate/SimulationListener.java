package dev.banyan.simulate;

import java.util.List;

/**
 * Receives every transfer and kernel of a simulation. The same input gives the same calls in the same order, which is
 * not the order of time.
 */
public interface SimulationListener {
    /** A transfer has crossed its links. */
    void transferred(Transfer transfer);

    /** A kernel has run. */
    void reduced(Reduction reduction);

    /**
     * The data that one source of a step sent over one path.
     *
     * @param job index of the job
     * @param chunk index of the chunk in the job's schedule
     * @param step index of the step in the chunk
     * @param from rank that it came from
     * @param to rank that it went to
     * @param arcs indices in the network of the arcs that it crossed, in order
     * @param bytes how much; a part of the chunk where several paths carry it
     * @param startUs when its first byte left
     * @param endUs when its last byte left
     * @param arrivalUs when its last byte arrived
     */
    record Transfer(
            int job,
            int chunk,
            int step,
            int from,
            int to,
            List<Integer> arcs,
            double bytes,
            double startUs,
            double endUs,
            double arrivalUs) {
        public Transfer {
            arcs = List.copyOf(arcs);
        }
    }

    /**
     * A kernel that combined what is in a device's memory, or copied within it.
     *
     * @param job index of the job
     * @param chunk index of the chunk in the job's schedule
     * @param step index of the step in the chunk
     * @param rank whose device it ran on
     * @param bytes bytes read and written
     * @param startUs when it began
     * @param endUs when it was done
     */
    record Reduction(int job, int chunk, int step, int rank, double bytes, double startUs, double endUs) {}
}
