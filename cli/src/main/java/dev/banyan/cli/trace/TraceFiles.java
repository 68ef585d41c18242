package dev.banyan.cli.trace;

import dev.banyan.cli.output.OptionGroup;
import dev.banyan.config.internal.BoundedInput;
import dev.banyan.config.internal.UnreadableFileException;
import dev.banyan.dlc.DlcTrace;
import dev.banyan.dlc.internal.read.DlcReader;
import dev.banyan.dlc.internal.run.DlcRun;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import picocli.CommandLine.Parameters;

/** The files that a command reads: one for each node of a run. */
final class TraceFiles extends OptionGroup {
    /** A record takes about 60 bytes, so that this is half a million messages of one node. */
    private static final BoundedInput LIMIT = new BoundedInput(32 << 20, 1_000_000);

    @Parameters(arity = "1..*", paramLabel = "FILE", description = "Traces of one run, one file for each node.")
    private List<Path> files = List.of();

    /**
     * Reads them.
     *
     * @throws picocli.CommandLine.ParameterException if one is not there, or two are of the same node
     */
    DlcRun read() {
        List<DlcTrace> traces = new ArrayList<>();
        Map<String, Path> nodes = new HashMap<>();
        for (Path file : files) {
            require(Files.exists(file), "no file is called '" + file + "'");
            DlcTrace trace = read(file);
            trace.recorder().ifPresent(recorder -> {
                Path other = nodes.putIfAbsent(recorder, file);
                if (other != null) {
                    throw wrong(other + " and " + file + " are both of " + recorder
                            + "; name one file for each node of one run");
                }
            });
            traces.add(trace);
        }
        return new DlcRun(traces);
    }

    private static DlcTrace read(Path file) {
        try (InputStream in = new ByteArrayInputStream(LIMIT.bytes(file))) {
            return DlcReader.read(file.toString(), in);
        } catch (UnreadableFileException e) {
            throw new UncheckedIOException(file + ": " + e.reason() + "; name the trace of one node", e);
        } catch (IOException e) {
            throw new UncheckedIOException("can't read " + file + ": " + e.getMessage(), e);
        }
    }
}
