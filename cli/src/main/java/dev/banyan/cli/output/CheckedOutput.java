package dev.banyan.cli.output;

import java.io.IOException;
import java.io.OutputStream;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A stream that keeps the first failure of another one, which a {@link java.io.PrintWriter} above it hides. Not safe
 * for use from several threads at once, as that writer uses it.
 */
public final class CheckedOutput extends OutputStream {
    private final OutputStream out;
    private @Nullable IOException failure;

    /** @param out what bytes are passed on to, unbuffered */
    public CheckedOutput(OutputStream out) {
        this.out = out;
    }

    /** Something that may fail. */
    private interface Attempt {
        void run() throws IOException;
    }

    private void attempt(Attempt attempt) throws IOException {
        try {
            attempt.run();
        } catch (IOException e) {
            failure = failure == null ? e : failure;
            throw e;
        }
    }

    @Override
    public void write(int one) throws IOException {
        attempt(() -> out.write(one));
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
        attempt(() -> out.write(bytes, offset, length));
    }

    @Override
    public void flush() throws IOException {
        attempt(out::flush);
    }

    @Override
    public void close() throws IOException {
        attempt(out::close);
    }

    /**
     * Returns the first failure, if bytes were lost that somebody waits for: not that a reader has gone away, as
     * {@code head} does.
     */
    public Optional<IOException> failure() {
        return Optional.ofNullable(failure)
                .filter(lost -> !String.valueOf(lost.getMessage()).contains("Broken pipe"));
    }
}
