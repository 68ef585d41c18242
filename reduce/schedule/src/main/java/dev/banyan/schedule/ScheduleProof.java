package dev.banyan.schedule;

import java.util.List;
import java.util.stream.IntStream;

/** The figures of a schedule that the verifier has proved to be right. Immutable. */
public final class ScheduleProof {
    private final int chunks;
    private final int steps;
    private final int depth;
    private final long[][] bytes;
    private final List<Summation> summations;

    ScheduleProof(int chunks, int steps, int depth, long[][] bytes, List<Summation> summations) {
        this.chunks = chunks;
        this.steps = steps;
        this.depth = depth;
        this.bytes = bytes;
        this.summations = List.copyOf(summations);
    }

    /** Returns the number of chunks. */
    public int chunks() {
        return chunks;
    }

    /** Returns the number of steps of all chunks. */
    public int steps() {
        return steps;
    }

    /** Returns the number of steps in the longest chain of steps that wait for each other. */
    public int depth() {
        return depth;
    }

    /** Returns the number of ranks n. */
    public int ranks() {
        return bytes.length;
    }

    /**
     * Returns the bytes that one rank reads from another's memory; 0 for a rank and itself.
     *
     * @param from rank 0..n-1 whose memory is read
     * @param to rank 0..n-1 that reads
     */
    public long bytesBetween(int from, int to) {
        return bytes[from][to];
    }

    /** Returns the bytes that a rank reads from other ranks. */
    public long bytesIn(int rank) {
        return IntStream.range(0, ranks()).mapToLong(from -> bytes[from][rank]).sum();
    }

    /** Returns the bytes that other ranks read from a rank. */
    public long bytesOut(int rank) {
        return IntStream.range(0, ranks()).mapToLong(to -> bytes[rank][to]).sum();
    }

    /**
     * Returns the order of summation of every element of the inputs' range, in ascending order of elements; empty if
     * the collective does not reduce.
     */
    public List<Summation> summations() {
        return summations;
    }
}
