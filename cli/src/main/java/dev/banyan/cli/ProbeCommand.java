package dev.banyan.cli;

import dev.banyan.cli.input.ThisMachine;
import dev.banyan.cli.output.Json;
import dev.banyan.cli.output.OutputFormat;
import dev.banyan.cli.output.Remarks;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.Machine;
import dev.banyan.topology.format.MachineWriter;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import picocli.CommandLine.TypeConversionException;

/** {@code banyan probe}: the GPUs of this machine and how they are linked. */
@Command(
        name = "probe",
        description = "Show what topo shows, for this machine, as its driver tells it.",
        footer = {
            "",
            "Examples:",
            "  banyan probe",
            "  banyan probe --output machine.json",
            "  banyan trees --machine machine.json"
        })
final class ProbeCommand implements Runnable {
    @Spec
    private CommandSpec spec = CommandSpec.create(); // replaced by picocli

    @Option(names = "--format", description = "table or json (default: table).")
    private OutputFormat format = OutputFormat.table;

    @Option(
            names = "--output",
            paramLabel = "FILE",
            converter = Output.Converter.class,
            description = {
                "Also write the machine to a file that --machine reads: .json (Banyan's own, without loss) or .xml"
                        + " (NCCL's)."
            })
    private @Nullable Output output;

    /**
     * A file to write the machine to.
     *
     * @param form what to write, one of {@link MachineWriter#formats}
     */
    record Output(Path file, String form) {
        static final class Converter implements ITypeConverter<Output> {
            @Override
            public Output convert(String name) {
                String lower = name.toLowerCase(Locale.ROOT);
                if (lower.endsWith(".json")) {
                    return new Output(Path.of(name), "json");
                }
                if (lower.endsWith(".xml")) {
                    return new Output(Path.of(name), "nccl-xml");
                }
                throw new TypeConversionException("'" + name + "' ends neither in .json nor in .xml");
            }
        }
    }

    @Override
    public void run() {
        switch (ThisMachine.look()) {
            case ThisMachine.Missing missing -> throw new IllegalStateException(missing.reason());
            case ThisMachine.Found found -> show(found);
        }
    }

    private void show(ThisMachine.Found found) {
        Machine machine = found.machine();
        if (output != null) {
            write(machine, output);
        }
        LinkMatrix links = LinkMatrix.of(machine);
        List<String> warnings = new ArrayList<>(machine.warnings());
        warnings.addAll(links.warnings());
        TopoReport report = TopoReport.of(machine, links, warnings);
        PrintWriter out = spec.commandLine().getOut();
        if (format == OutputFormat.json) {
            Json.print(out, report);
            return;
        }
        Remarks.print(spec, found.remark(), report.warnings());
        report.printTable(out);
        out.flush();
    }

    private static void write(Machine machine, Output output) {
        String text = MachineWriter.write(machine, output.form());
        try {
            Files.writeString(output.file(), text);
        } catch (IOException e) {
            throw new UncheckedIOException(
                    "cannot write " + output.file() + " (" + e.getMessage() + "); name a file in a folder that is there"
                            + " and may be written to",
                    e);
        }
    }
}
