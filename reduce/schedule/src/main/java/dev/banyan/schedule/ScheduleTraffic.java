package dev.banyan.schedule;

import org.apache.commons.numbers.fraction.BigFraction;

/**
 * The bytes that a schedule moves between ranks, whatever the size of its elements, so that schedules of any origin can
 * be compared and priced. It proves nothing about the schedule; {@link ScheduleVerifier} does. Immutable. O(steps and
 * their dependencies) time, O(n^2) memory for n ranks.
 */
public final class ScheduleTraffic {
    private final long dataBytes;
    private final long[][] bytes;
    private final int steps;
    private final int transfers;

    private ScheduleTraffic(Schedule schedule) {
        long blocks = switch (schedule.collective()) {
            case REDUCE_SCATTER, ALL_GATHER -> schedule.ranks();
            case ALL_REDUCE, REDUCE, BROADCAST -> 1;
        };
        dataBytes = schedule.count() * schedule.elementBytes() * blocks;
        bytes = new long[schedule.ranks()][schedule.ranks()];
        steps = schedule.stepCount();
        int crossing = 0;
        for (Chunk chunk : schedule.chunks()) {
            for (Step step : chunk.steps()) {
                for (Location source : step.sources()) {
                    if (source.rank() != step.target().rank()) {
                        bytes[source.rank()][step.target().rank()] += chunk.bytes();
                        crossing++;
                    }
                }
            }
        }
        transfers = crossing;
    }

    /** Returns the traffic of a schedule. */
    public static ScheduleTraffic of(Schedule schedule) {
        return new ScheduleTraffic(schedule);
    }

    /** Returns the number of ranks n. */
    public int ranks() {
        return bytes.length;
    }

    /**
     * Returns the bytes of all data: those of the larger of a rank's input and output, as nccl-tests print them. A byte
     * is a part of a chunk where the schedule comes from a plan for MSCCL++.
     */
    public long dataBytes() {
        return dataBytes;
    }

    /**
     * Returns the bytes that go from one rank to another; 0 for a rank and itself.
     *
     * @param from rank 0..n-1 whose memory is read
     * @param to rank 0..n-1 that reads
     */
    public long bytesBetween(int from, int to) {
        return bytes[from][to];
    }

    /**
     * Returns the same as a share of {@link #dataBytes}; 0 if that is 0.
     *
     * @return the exact share; above 1 if parts go there more than once
     */
    public BigFraction shareBetween(int from, int to) {
        return dataBytes == 0 ? BigFraction.ZERO : BigFraction.of(bytes[from][to], dataBytes);
    }

    /** Returns the number of steps of all chunks. */
    public int steps() {
        return steps;
    }

    /** Returns the number of reads from another rank's memory, over all steps; a k-way reduction may do several. */
    public int transfers() {
        return transfers;
    }
}
