package dev.banyan.cli.bench;

import dev.banyan.cli.input.NamedConverter;

/** What carries calls out for real, as {@code --backend} names it. */
public enum RankBackend {
    /** Virtual devices in host memory. */
    HOST,
    /** GPUs. */
    CUDA;

    /** For picocli. */
    public static final class Converter extends NamedConverter<RankBackend> {
        /** Called by picocli. */
        public Converter() {
            super("backend", byName(values(), RankBackend::name));
        }
    }
}
