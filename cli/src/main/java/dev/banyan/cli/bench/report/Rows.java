package dev.banyan.cli.bench.report;

import dev.banyan.cli.output.Progress;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/** Measurements as they are made, each with its line. */
public final class Rows<R> implements AutoCloseable {
    private final Reporter reporter;
    private final Progress progress;
    private final Function<R, String> line;
    private final List<R> rows = new ArrayList<>();

    Rows(Reporter reporter, Progress progress, Function<R, String> line) {
        this.reporter = reporter;
        this.progress = progress;
        this.line = line;
    }

    /** Prints the heading of the next rows. */
    public void title(String title) {
        progress.print(() -> reporter.lines(List.of(title)));
    }

    /** Adds a row. Returns whether nobody reads any more, so that the run should end. */
    public boolean isLast(R row) {
        rows.add(row);
        progress.step();
        progress.print(() -> reporter.lines(List.of(line.apply(row))));
        return reporter.abandoned();
    }

    /** Returns all rows, in the order in which they were added. */
    public List<R> all() {
        return rows;
    }

    @Override
    public void close() {
        progress.close();
    }
}
