package dev.banyan.cli.topo;

import dev.banyan.cli.input.MachineOptions;
import dev.banyan.cli.output.OutputFormat;
import dev.banyan.cli.output.RunContext;
import dev.banyan.cli.output.Subcommand;
import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.study.machine.TopoReport;
import dev.banyan.study.text.Names;
import dev.banyan.topology.format.MachineWriter;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

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
public final class TopoCommand extends Subcommand {
    @Mixin
    private final MachineOptions machine = new MachineOptions();

    @Option(names = "--format", description = "table, json or csv (default: table).")
    private @Nullable OutputFormat format;

    @Option(
            names = "--write",
            paramLabel = "FORM",
            description = {
                "Print the machine itself instead, in a form that --machine reads: json (Banyan's own, without loss),"
                        + " nccl-xml, topo (as nvidia-smi topo -m), matrix or matrix-gbs."
            })
    private @Nullable Form form;

    /** A form to write a machine in. */
    public record Form(String name) {
        public static Form of(String name) {
            return new Form(Names.find("form", Names.of(MachineWriter.formats(), UnaryOperator.identity()), name));
        }
    }

    @Override
    public void run() {
        require(form == null || format == null, "--write and --format exclude each other");
        ChosenMachine chosen = machine.choose(0);
        if (form != null) {
            out().print(MachineWriter.write(chosen.machine(), form.name()));
            return;
        }
        TopoReport report = TopoReport.of(chosen.machine(), chosen.links(), chosen.warnings());
        print(format == null ? OutputFormat.table : format, RunContext.of(chosen.machine()), report, () -> {
            remark(chosen.remark(), report.warnings());
            new TopoTable(chosen, report).print(out());
        });
    }
}
