package dev.banyan.cli.bench.rank;

/** The backends that execute calls, as {@code --backend} names them. */
public enum RankBackend {
    /** Virtual devices in host memory. */
    HOST,
    /** GPUs. */
    CUDA;
}
