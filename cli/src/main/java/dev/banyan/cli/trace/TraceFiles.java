package dev.banyan.cli.trace;

import dev.banyan.dlc.DlcReader;
import dev.banyan.dlc.DlcRun;
import dev.banyan.dlc.DlcTrace;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** The files that a command reads: one for each node of a run. */
final class TraceFiles {
    @Spec(Spec.Target.MIXEE)
    private CommandSpec spec = CommandSpec.create(); // replaced by picocli

    @Parameters(arity = "1..*", paramLabel = "FILE", description = "Traces of one run, one file for each node.")
    private List<Path> files = List.of();

    /**
     * Reads them.
     *
     * @throws ParameterException if one is not there, or two are of the same node
     */
    DlcRun read() {
        List<DlcTrace> traces = new ArrayList<>();
        Map<String, Path> nodes = new HashMap<>();
        for (Path file : files) {
            if (!Files.isRegularFile(file)) {
                throw new ParameterException(spec.commandLine(), "no file is called '" + file + "'");
            }
            DlcTrace trace = read(file);
            trace.recorder().ifPresent(recorder -> {
                Path other = nodes.putIfAbsent(recorder, file);
                if (other != null) {
                    throw new ParameterException(
                            spec.commandLine(),
                            other + " and " + file + " are both of " + recorder
                                    + "; name one file for each node of one run");
                }
            });
            traces.add(trace);
        }
        return new DlcRun(traces);
    }

    private static DlcTrace read(Path file) {
        try (InputStream in = Files.newInputStream(file)) {
            return DlcReader.read(file.toString(), in);
        } catch (IOException e) {
            throw new UncheckedIOException("can't read " + file + ": " + e.getMessage(), e);
        }
    }
}
