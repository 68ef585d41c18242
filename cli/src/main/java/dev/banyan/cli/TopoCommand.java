package dev.banyan.cli;

import dev.banyan.cli.input.ChosenMachine;
import dev.banyan.cli.input.MachineOptions;
import dev.banyan.cli.output.Json;
import dev.banyan.cli.output.OutputFormat;
import java.io.PrintWriter;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
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
            "  banyan topo --machine p3.16xlarge --devices 4,2,3,1 --format json"
        })
final class TopoCommand implements Runnable {
    @Spec
    private CommandSpec spec = CommandSpec.create(); // replaced by picocli

    @Mixin
    private final MachineOptions machine = new MachineOptions();

    @Option(names = "--format", description = "table or json (default: table).")
    private OutputFormat format = OutputFormat.table;

    @Override
    public void run() {
        ChosenMachine chosen = machine.choose(0);
        PrintWriter out = spec.commandLine().getOut();
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
