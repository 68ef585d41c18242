package dev.banyan.cli.bench;

/** What carries calls out for real, as {@code --backend} names it. */
public enum RankBackend {
    /** Virtual devices in host memory. */
    HOST,
    /** GPUs. */
    CUDA;
}
