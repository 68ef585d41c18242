package dev.banyan.simulate;

import java.util.Arrays;

/** The result of a simulation. Immutable and safe for use from any thread. */
public final class Simulation {
    private final int steps;
    private final double[] jobEndUs;
    private final int arcs;
    /** By arc, then by rank. */
    private final double[] bytes;

    private final double[] busyUs;

    Simulation(int steps, double[] jobEndUs, int arcs, double[] bytes, double[] busyUs) {
        this.steps = steps;
        this.jobEndUs = jobEndUs;
        this.arcs = arcs;
        this.bytes = bytes;
        this.busyUs = busyUs;
    }

    /** Returns the end of the last job, in us. */
    public double endUs() {
        return Arrays.stream(jobEndUs).max().orElse(0);
    }

    /** Returns the end of a job, in us from the start of the simulation. */
    public double endUs(int job) {
        return jobEndUs[job];
    }

    /** Number of steps of all jobs. */
    public int steps() {
        return steps;
    }

    /** Bytes that crossed an arc of the network. */
    public double bytes(int arc) {
        return bytes[checkedArc(arc)];
    }

    /** Time for which at least one transfer was on an arc, in us. */
    public double busyUs(int arc) {
        return busyUs[checkedArc(arc)];
    }

    private int checkedArc(int arc) {
        if (arc < 0 || arc >= arcs) {
            throw new IndexOutOfBoundsException("arc " + arc + " of " + arcs);
        }
        return arc;
    }

    /** Bytes that kernels of a rank's device read and wrote. */
    public double reducedBytes(int rank) {
        return bytes[arcs + rank];
    }
}
