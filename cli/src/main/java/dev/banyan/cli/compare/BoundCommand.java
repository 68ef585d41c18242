package dev.banyan.cli.compare;

import dev.banyan.cli.input.MachineOptions;
import dev.banyan.cli.input.RelayOption;
import dev.banyan.cli.output.RunContext;
import dev.banyan.cli.output.Subcommand;
import dev.banyan.cli.output.TableFormat;
import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.study.machine.MachineBounds;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code banyan bound}: what bandwidth to expect at most. */
@Command(
        name = "bound",
        description = {
            "Print an upper bound per collective, with its certificate, without building trees.",
            "algbw and busbw are those of nccl-tests, latencies apart."
        },
        footer = {
            "",
            "Examples:",
            "  banyan bound --machine p3.16xlarge",
            "  banyan bound --machine topo.txt --devices 0,1,2,4 --relays others --format json"
        })
public final class BoundCommand extends Subcommand {
    @Mixin
    private final MachineOptions machine = new MachineOptions();

    @Mixin
    private final RelayOption relays = new RelayOption();

    @Option(names = "--root", paramLabel = "RANK", description = "Root of the broadcast and the reduce (default: 0).")
    private int root;

    @Option(names = "--format", description = "table, json, csv or markdown (default: table).")
    private TableFormat format = TableFormat.table;

    @Override
    public void run() {
        ChosenMachine chosen = machine.choose(2);
        int ranks = chosen.machine().size();
        require(root >= 0 && root < ranks, "--root is " + root + "; the ranks are 0.." + (ranks - 1));
        MachineBounds report = MachineBounds.of(chosen, relays.required(chosen), root);
        print(format, RunContext.of(chosen.machine()), report, () -> {
            remark(format == TableFormat.table ? chosen.remark() : null, report.warnings());
            new BoundTable(report).print(out(), format);
        });
    }
}
