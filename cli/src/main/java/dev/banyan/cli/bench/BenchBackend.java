package dev.banyan.cli.bench;

import dev.banyan.cli.input.NamedConverter;

/** What carries the calls of {@code bench} out, as {@code --backend} names it. */
enum BenchBackend {
    /** Virtual devices in host memory, measured. */
    HOST,
    /** The simulator, which predicts. */
    SIM;

    /** For picocli. */
    static final class Converter extends NamedConverter<BenchBackend> {
        Converter() {
            super("backend", byName(values(), BenchBackend::name));
        }
    }
}
