package dev.banyan.cli.bench;

/** The backends of {@code bench}, as {@code --backend} names them. */
public enum BenchBackend {
    /** Virtual devices in host memory, measured. */
    HOST,
    /** GPUs, measured. */
    CUDA,
    /** The simulator, which predicts. */
    SIM;
}
