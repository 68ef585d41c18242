package dev.banyan.cli.bench;

import dev.banyan.cli.input.NamedConverter;

/** What {@code selftest} tests. */
enum SelftestBackend {
    /** Virtual devices in host memory. */
    HOST,
    /** GPUs. */
    CUDA;

    /** For picocli. */
    static final class Converter extends NamedConverter<SelftestBackend> {
        Converter() {
            super("backend", byName(values(), SelftestBackend::name));
        }
    }
}
