package dev.banyan.cli.output;

import java.io.PrintWriter;
import java.util.concurrent.TimeUnit;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarConsumer;
import me.tongfei.progressbar.ProgressBarStyle;
import org.jspecify.annotations.Nullable;

/**
 * A progress line on stderr, for commands that run for over two seconds, if stderr is a terminal: the launcher
 * says so by the system property {@code banyan.progress}, since Java cannot find out.
 */
public final class Progress implements AutoCloseable {
    private static final long DELAY_NANOS = TimeUnit.SECONDS.toNanos(2);
    private static final String BACK_AND_ERASE = "\r\u001b[K";

    private final @Nullable ProgressBar bar;
    private final @Nullable Line line;

    private Progress(@Nullable ProgressBar bar, @Nullable Line line) {
        this.bar = bar;
        this.line = line;
    }

    /**
     * Starts the clock.
     *
     * @param task what is going on, in a word
     * @param steps number of {@link #step}s to come
     */
    public static Progress start(String task, long steps, PrintWriter err) {
        if (!Boolean.getBoolean("banyan.progress")) {
            return new Progress(null, null);
        }
        Line line = new Line(err);
        ProgressBar bar = new ProgressBarBuilder()
                .setTaskName(task)
                .setInitialMax(steps)
                .setStyle(ProgressBarStyle.ASCII)
                .setUpdateIntervalMillis(250)
                // The first step may take long, too.
                .continuousUpdate()
                .setConsumer(line)
                .build();
        return new Progress(bar, line);
    }

    /** One step is done. */
    public void step() {
        if (bar != null) {
            bar.step();
        }
    }

    /** Prints something else without mixing it with the line. */
    public void print(Runnable printing) {
        if (line == null) {
            printing.run();
        } else {
            line.print(printing);
        }
    }

    @Override
    public void close() {
        if (bar != null) {
            bar.close();
        }
    }

    /** Draws over one line of the terminal, and leaves nothing behind. */
    private static final class Line implements ProgressBarConsumer {
        private static final int WIDTH = 100;

        private final PrintWriter err;
        private final long visibleFrom = System.nanoTime() + DELAY_NANOS;
        private boolean drawn;
        private boolean closed;

        Line(PrintWriter err) {
            this.err = err;
        }

        @Override
        public int getMaxRenderedLength() {
            return WIDTH;
        }

        @Override
        public synchronized void accept(String text) {
            if (!closed && System.nanoTime() - visibleFrom >= 0) {
                err.print(BACK_AND_ERASE + text);
                err.flush();
                drawn = true;
            }
        }

        synchronized void print(Runnable printing) {
            erase();
            printing.run();
        }

        private void erase() {
            if (drawn) {
                err.print(BACK_AND_ERASE);
                err.flush();
                drawn = false;
            }
        }

        @Override
        public synchronized void close() {
            erase();
            closed = true;
        }
    }
}
