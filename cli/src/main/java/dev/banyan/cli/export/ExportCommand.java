package dev.banyan.cli.export;

import dev.banyan.cli.input.MachineOptions;
import dev.banyan.cli.output.OutputFile;
import dev.banyan.cli.output.Subcommand;
import dev.banyan.cli.output.TerminalText;
import dev.banyan.cli.output.TextFile;
import dev.banyan.export.NcclLimits;
import dev.banyan.study.machine.ChosenMachine;
import java.io.PrintWriter;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code banyan export}: rings, trees and schedules for runtimes that run on GPUs today. */
@Command(
        name = "export",
        description = "Write the best rings, trees or schedules of a machine for NCCL, RCCL or MSCCL++.",
        footer = {
            "",
            "nccl: a graph file, whose rings NCCL takes in place of those that it would search.",
            "rccl: lines for a shell that set NCCL_RINGS and, as a comment, RCCL_TREES.",
            "",
            "Examples:",
            "  nvidia-smi topo -m > topo.txt",
            "  banyan export --for nccl -m topo.txt --pcie-gen 5 --socket-gbs 64 -o graph.xml",
            "  banyan export --for nccl -m p3.16xlarge --devices 0-3 --nccl 2.27.5 > graph.xml",
            "  banyan export --for rccl -m mi250x8"
        })
public final class ExportCommand extends Subcommand {
    /** The values of {@code --for}. */
    enum Target {
        nccl,
        rccl
    }

    @Mixin
    private final MachineOptions machine = new MachineOptions();

    @Option(names = "--for", required = true, description = "nccl or rccl.")
    private Target target = Target.nccl;

    @Option(
            names = {"-o", "--output"},
            paramLabel = "FILE",
            description = "Write the file there, and the remarks to stdout (default: the file to stdout, remarks to"
                    + " stderr).")
    private @Nullable OutputFile output;

    @Option(
            names = "--nccl",
            paramLabel = "VERSION",
            description =
                    "NCCL's version, e.g. 2.27.5: from 2.25.1 on a file may have 32 channels (default: at most 16,"
                            + " which all versions take).")
    private @Nullable String version;

    @Option(
            names = "--nccl-socket-gbs",
            paramLabel = "GBS",
            description = "Between two sockets one way in GB/s as NCCL assumes it: 10 or 22 for Intel, 16, 24 or 32 for"
                    + " AMD (default: 10 to 32).")
    private @Nullable Double assumedSocketGbs;

    @Option(names = "--force", description = "Write a file even if it is of no use.")
    private boolean force;

    @Override
    public void run() {
        require(
                target == Target.nccl || (version == null && assumedSocketGbs == null),
                "--nccl and --nccl-socket-gbs go with --for nccl");
        require(
                assumedSocketGbs == null || assumedSocketGbs > 0,
                "--nccl-socket-gbs is " + assumedSocketGbs + "; it must be above 0");
        ChosenMachine chosen = machine.choose(2);
        remarkAside(chosen.remark(), chosen.machine().warnings());
        NcclExport export = NcclExport.of(chosen, mostChannels(chosen.machine().size()));
        String useless = export.uselessness();
        if (useless != null && !force) {
            throw new IllegalStateException("nothing is written: " + useless + "; --force writes it all the same");
        }
        print(target == Target.nccl ? export.graph(path("graph.xml"), assumedSocketGbs) : export.variables());
    }

    private int mostChannels(int devices) {
        if (version == null) {
            return NcclLimits.ANY.channelsOf(devices);
        }
        try {
            return NcclLimits.of(version).channelsOf(devices);
        } catch (IllegalArgumentException e) {
            throw wrong("--nccl: " + e.getMessage());
        }
    }

    private String path(String usual) {
        return output == null
                ? "$PWD/" + usual
                : output.path().toAbsolutePath().normalize().toString();
    }

    private void print(ExportedText text) {
        PrintWriter aside = output == null ? err() : out();
        if (output == null) {
            out().print(text.file());
        } else {
            TextFile.write(output.path(), text.file());
            aside.println("# wrote " + TerminalText.of(output.toString()));
        }
        text.remarks().forEach(remark -> aside.println("# " + TerminalText.of(remark)));
        text.use().forEach(line -> aside.println(TerminalText.of(line)));
    }
}
