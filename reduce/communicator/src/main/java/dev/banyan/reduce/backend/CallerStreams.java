package dev.banyan.reduce.backend;

/** Streams of the caller, one per rank, in which a run takes its place. What they are is a matter of the backend. */
public interface CallerStreams {
    /** Number of streams. */
    int size();
}
