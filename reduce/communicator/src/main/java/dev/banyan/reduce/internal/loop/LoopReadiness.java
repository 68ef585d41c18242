package dev.banyan.reduce.internal.loop;

/** Decides whether fused loops run yet. */
public interface LoopReadiness {
    /** Returns whether a loop is worth running. */
    boolean isReady(FusedLoop loop);

    /** Has a loop made ready in the background, if nobody has asked for that yet. */
    void prepare(FusedLoop loop);

    /** Has a loop made ready, and returns when it is. */
    void await(FusedLoop loop);
}
