package dev.banyan.cli;

import dev.banyan.cli.input.ChosenMachine;
import dev.banyan.cli.input.MachineOptions;
import dev.banyan.cli.input.NamedConverter;
import dev.banyan.cli.output.Json;
import dev.banyan.cli.output.OutputFormat;
import dev.banyan.cli.output.Remarks;
import dev.banyan.topology.format.MachineWriter;
import java.io.PrintWriter;
import java.util.LinkedHashMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code banyan topo}: what is in the machine and how it is linked. */
@Command(
        name = "topo",
        description = "Show a machine's devices, its link matrix and its bandwidths.",
        footer = {
            "",
            "Examples:",
            "  banyan topo --machine dgx-2",
            "  nvidia-smi topo -m | banyan topo --machine -",
            "  banyan topo --machine p3.16xlarge --devices 4,2,3,1 --format json",
            "  banyan topo --machine topo.txt --write nccl-xml > topo.xml"
        })
final class TopoCommand implements Runnable {
    @Spec
    private CommandSpec spec = CommandSpec.create(); // replaced by picocli

    @Mixin
    private final MachineOptions machine = new MachineOptions();

    @Option(names = "--format", description = "table or json (default: table).")
    private @Nullable OutputFormat format;

    @Option(
            names = "--write",
            paramLabel = "FORM",
            converter = Form.Converter.class,
            description = {
                "Print the machine itself instead, in a form that --machine reads: json (Banyan's own, without loss),"
                        + " nccl-xml, topo (as nvidia-smi topo -m), matrix or matrix-gbs."
            })
    private @Nullable Form form;

    /** A form to write a machine in. */
    record Form(String name) {
        static final class Converter extends NamedConverter<Form> {
            Converter() {
                super(
                        "form",
                        MachineWriter.formats().stream()
                                .collect(Collectors.toMap(name -> name, Form::new, (a, b) -> a, LinkedHashMap::new)));
            }
        }
    }

    @Override
    public void run() {
        if (form != null && format != null) {
            throw new ParameterException(spec.commandLine(), "--write and --format exclude each other");
        }
        ChosenMachine chosen = machine.choose(0);
        PrintWriter out = spec.commandLine().getOut();
        if (form != null) {
            out.print(MachineWriter.write(chosen.machine(), form.name()));
            out.flush();
            return;
        }
        TopoReport report = TopoReport.of(chosen.machine(), chosen.links(), chosen.warnings());
        if (format == OutputFormat.json) {
            Json.print(out, report);
            return;
        }
        Remarks.print(spec, chosen.remark(), report.warnings());
        report.printTable(out);
        out.flush();
    }
}
