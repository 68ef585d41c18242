package dev.banyan.cli.bench;

/** What carries the calls of {@code bench} out, as {@code --backend} names it. */
public enum BenchBackend {
    /** Virtual devices in host memory, measured. */
    HOST,
    /** GPUs, measured. */
    CUDA,
    /** The simulator, which predicts. */
    SIM;
}
