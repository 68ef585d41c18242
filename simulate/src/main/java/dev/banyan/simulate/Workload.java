package dev.banyan.simulate;

import dev.banyan.schedule.Chunk;
import dev.banyan.schedule.Location;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.Step;
import dev.banyan.simulate.internal.rate.Starts;
import java.util.Arrays;
import java.util.List;

/**
 * The steps of jobs as flat arrays, numbered through in the order of jobs, chunks and steps. What a step does
 * is its operations: a copy from each other rank that it reads, then a kernel if it has anything to combine,
 * or to copy within its device.
 */
final class Workload {
    final int jobs;
    final int steps;
    /** First step of each job, and the end of the last. */
    final int[] jobStart;

    final int[] jobOfStep;
    /** First chunk of each job, and the end of the last. */
    private final int[] jobChunks;
    /** First step of each chunk. */
    private final int[] chunkStart;
    /** First operation of each step, and the end of the last. */
    final int[] opStart;

    final int[] stepOfOp;
    final int[] streamOfOp;
    /** Bytes that an operation moves: a chunk's length for a copy, all that it reads and writes for a kernel. */
    final long[] bytes;
    /** Number of steps that a step waits for. */
    final int[] waits;
    /** The begin of the steps that wait for a step in {@link #followers}, and the end of the last. */
    final int[] followerStart;

    final int[] followers;
    /** First operation of each stream if they were sorted by stream, and the end of the last. */
    final int[] queueStart;

    private Workload(Builder built, int streams) {
        jobs = built.jobStart.length - 1;
        steps = built.steps;
        jobStart = built.jobStart;
        jobOfStep = built.jobOfStep;
        jobChunks = built.jobChunks;
        chunkStart = built.chunkStart;
        opStart = built.opStart;
        stepOfOp = Arrays.copyOf(built.stepOfOp, built.ops);
        streamOfOp = Arrays.copyOf(built.streamOfOp, built.ops);
        bytes = Arrays.copyOf(built.bytes, built.ops);
        waits = built.waits;
        followerStart = Starts.of(built.before, built.waitsTotal, steps);
        followers = new int[built.waitsTotal];
        int[] filled = Arrays.copyOf(followerStart, steps);
        int at = 0;
        for (int step = 0; step < steps; step++) {
            for (int i = 0; i < waits[step]; i++) {
                followers[filled[built.before[at++]]++] = step;
            }
        }
        queueStart = Starts.of(streamOfOp, streamOfOp.length, streams);
    }

    /**
     * Flattens jobs in O(steps and sources).
     *
     * @throws IllegalArgumentException if a job has other ranks than the links, or needs a path that they
     *     don't have
     */
    static Workload of(List<Job> jobs, Wiring wiring) {
        Builder builder = new Builder(jobs, wiring);
        for (int job = 0; job < jobs.size(); job++) {
            builder.add(job, jobs.get(job).schedule());
        }
        builder.opStart[builder.steps] = builder.ops;
        return new Workload(builder, wiring.streams);
    }

    boolean endsWithKernel(int step, Wiring wiring) {
        return wiring.isKernel(streamOfOp[opStart[step + 1] - 1]);
    }

    /** Index of the chunk of a step in the schedule of its job. */
    int chunkOf(int step) {
        return chunk(step) - jobChunks[jobOfStep[step]];
    }

    /** Index of a step in its chunk. */
    int placeInChunk(int step) {
        return step - chunkStart[chunk(step)];
    }

    /** The last chunk that begins no later; those before it may be empty. */
    private int chunk(int step) {
        int low = 0;
        int high = chunkStart.length;
        while (high - low > 1) {
            int middle = (low + high) >>> 1;
            if (chunkStart[middle] <= step) {
                low = middle;
            } else {
                high = middle;
            }
        }
        return low;
    }

    private static final class Builder {
        private final Wiring wiring;
        private final int[] jobChunks;
        private final int[] chunkStart;
        private int chunks;
        private final int[] jobStart;
        private final int[] jobOfStep;
        private final int[] opStart;
        private final int[] waits;
        private int[] stepOfOp;
        private int[] streamOfOp;
        private long[] bytes;
        private int[] before;
        private int steps;
        private int ops;
        private int waitsTotal;

        Builder(List<Job> jobs, Wiring wiring) {
            this.wiring = wiring;
            jobStart = new int[jobs.size() + 1];
            jobChunks = new int[jobs.size() + 1];
            long total = 0;
            for (int job = 0; job < jobs.size(); job++) {
                for (Chunk chunk : jobs.get(job).schedule().chunks()) {
                    total += chunk.steps().size();
                }
                if (total > Integer.MAX_VALUE / 8) {
                    throw new IllegalArgumentException("more than " + Integer.MAX_VALUE / 8
                            + " steps; simulate fewer collectives at once or longer chunks");
                }
                jobStart[job + 1] = (int) total;
                jobChunks[job + 1] =
                        jobChunks[job] + jobs.get(job).schedule().chunks().size();
            }
            chunkStart = new int[jobChunks[jobs.size()]];
            jobOfStep = new int[(int) total];
            opStart = new int[(int) total + 1];
            waits = new int[(int) total];
            stepOfOp = new int[2 * (int) total];
            streamOfOp = new int[2 * (int) total];
            bytes = new long[2 * (int) total];
            before = new int[2 * (int) total];
        }

        void add(int job, Schedule schedule) {
            if (schedule.ranks() != wiring.ranks) {
                throw new IllegalArgumentException("job " + job + " has " + schedule.ranks() + " ranks; the network of "
                        + wiring.network.name() + " has " + wiring.ranks);
            }
            for (Chunk chunk : schedule.chunks()) {
                int first = steps;
                chunkStart[chunks++] = first;
                List<Step> list = chunk.steps();
                for (int i = 0; i < list.size(); i++) {
                    add(job, list.get(i), chunk.bytes(), first);
                }
            }
        }

        private void add(int job, Step step, long length, int firstOfChunk) {
            jobOfStep[steps] = job;
            opStart[steps] = ops;
            int to = step.target().rank();
            checkRank(to);
            List<Location> sources = step.sources();
            boolean local = false;
            for (int i = 0; i < sources.size(); i++) {
                int from = sources.get(i).rank();
                if (from == to) {
                    local = true;
                } else {
                    addCopy(from, to, length);
                }
            }
            if (local || sources.size() > 1) {
                addOp(wiring.ranks * wiring.ranks + to, Math.multiplyExact(sources.size() + 1L, length));
            }
            List<Integer> after = step.after();
            waits[steps] = after.size();
            for (int i = 0; i < after.size(); i++) {
                if (waitsTotal == before.length) {
                    before = Arrays.copyOf(before, 2 * waitsTotal);
                }
                before[waitsTotal++] = firstOfChunk + after.get(i);
            }
            steps++;
        }

        private void addCopy(int from, int to, long length) {
            checkRank(from);
            int stream = from * wiring.ranks + to;
            if (!wiring.hasPath(stream)) {
                throw new IllegalArgumentException("no path from rank " + from + " to rank " + to
                        + " in the network of " + wiring.network.name()
                        + (wiring.network.joinedByNvlink()
                                ? ", which leaves PCIe out; take the network of all links"
                                : ""));
            }
            addOp(stream, length);
        }

        private void checkRank(int rank) {
            if (rank >= wiring.ranks) {
                throw new IllegalArgumentException("a step of job " + jobOfStep[steps] + " names rank " + rank
                        + "; the ranks are 0.." + (wiring.ranks - 1));
            }
        }

        private void addOp(int stream, long length) {
            if (ops == stepOfOp.length) {
                stepOfOp = Arrays.copyOf(stepOfOp, 2 * ops);
                streamOfOp = Arrays.copyOf(streamOfOp, 2 * ops);
                bytes = Arrays.copyOf(bytes, 2 * ops);
            }
            stepOfOp[ops] = steps;
            streamOfOp[ops] = stream;
            bytes[ops++] = length;
        }
    }
}
