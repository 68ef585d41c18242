package dev.banyan.cli.probe;

import dev.banyan.cli.output.OutputFile;
import dev.banyan.cli.output.Progress;
import dev.banyan.cli.output.ReportCommand;
import dev.banyan.cli.output.RunContext;
import dev.banyan.cli.output.TerminalText;
import dev.banyan.cli.output.TextFile;
import dev.banyan.cli.topo.TopoTable;
import dev.banyan.cuda.internal.driver.CudaDevices;
import dev.banyan.cuda.internal.peer.PeerMeter;
import dev.banyan.gpuday.pairs.MeasuredLinks;
import dev.banyan.gpuday.pairs.PeerChecks;
import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.study.machine.TopoReport;
import dev.banyan.study.text.ByteSize;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.Machine;
import dev.banyan.topology.ThisMachine;
import dev.banyan.topology.format.MachineWriter;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code banyan probe}: the GPUs of this machine and how they are linked. */
@Command(
        name = "probe",
        description = "Show this machine's devices, link matrix and bandwidths, as its driver reports them.",
        footer = {
            "",
            "Examples:",
            "  banyan probe",
            "  banyan probe --output machine.json",
            "  banyan probe --measure --output machine.json",
            "  banyan trees --machine machine.json"
        })
public final class ProbeCommand extends ReportCommand {
    private static final long DEFAULT_BYTES = 16 << 20;
    private static final int LEAST_BYTES = 16;
    private static final int DEFAULT_SECONDS = 10;

    @Option(
            names = {"-o", "--output"},
            paramLabel = "FILE",
            description = {
                "Also write the machine to a file that --machine reads: .json (Banyan's own, without loss) or .xml"
                        + " (NCCL's)."
            })
    private @Nullable Output output;

    @Option(
            names = "--measure",
            description =
                    "Also time copies between all GPUs, with peer access and through the host, one way and both ways,"
                        + " and check what arrives. Prints what p2pBandwidthLatencyTest prints, for banyan calibrate"
                        + " --from; --output keeps which pairs should not use peer access.")
    private boolean measure;

    @Option(
            names = "--bytes",
            paramLabel = "SIZE",
            description = "With --measure: length of the copies (default: 16M).")
    private @Nullable ByteSize bytes;

    @Option(
            names = "--deadline",
            paramLabel = "SECONDS",
            description = "With --measure: how long a copy may take before it counts as stuck (default: 10).")
    private @Nullable Integer deadline;

    /**
     * A file to write the machine to.
     *
     * @param form what to write, one of {@link MachineWriter#formats}
     */
    public record Output(OutputFile file, String form) {
        public static Output of(String name) {
            String lower = name.toLowerCase(Locale.ROOT);
            if (!lower.endsWith(".json") && !lower.endsWith(".xml")) {
                throw new IllegalArgumentException("'" + name + "' ends neither in .json nor in .xml");
            }
            return new Output(OutputFile.of(name), lower.endsWith(".json") ? "json" : "nccl-xml");
        }
    }

    @Override
    public void run() {
        require(measure || (bytes == null && deadline == null), "--bytes and --deadline go with --measure");
        require(deadline == null || deadline > 0, "--deadline is " + deadline + "; it must be at least 1");
        require(bytes == null || bytes.bytes() >= LEAST_BYTES, "--bytes must be at least " + LEAST_BYTES);
        switch (ThisMachine.look()) {
            case ThisMachine.Missing missing -> throw new IllegalStateException(missing.reason());
            case ThisMachine.Found found -> show(found);
        }
    }

    /** The report of {@code --measure}, as JSON has it. */
    private record Measured(List<MeasuredLinks.Row> rows, List<String> warnings) {}

    private void show(ThisMachine.Found found) {
        Machine machine = found.machine();
        List<String> remarks = new ArrayList<>(machine.warnings());
        PrintWriter out = out();
        MeasuredLinks measured = null;
        if (measure) {
            if (!forPrograms()) {
                out.println("# " + TerminalText.of(found.remark()));
            }
            List<Integer> gpus = gpus(machine, CudaDevices.busIds());
            machine = checked(machine, gpus, remarks);
            measured = measured(machine, gpus);
            machine = measured.machine();
            remarks.addAll(measured.warnings());
            if (!forPrograms()) {
                measured.print(out);
            }
        } else if (CudaDevices.present()) {
            machine = checked(machine, gpus(machine, CudaDevices.busIds()), remarks);
        }
        if (output != null) {
            TextFile.write(output.file().path(), MachineWriter.write(machine, output.form()));
        }
        LinkMatrix links = LinkMatrix.of(machine);
        remarks.addAll(links.warnings());
        TopoReport report = TopoReport.of(machine, links, remarks);
        TopoTable table = new TopoTable(ChosenMachine.whole(machine, found.remark()), report);
        Object answer = measured == null ? report : new Measured(measured.rows(), report.warnings());
        print(RunContext.of(machine), answer, () -> {
            remark(measure ? null : found.remark(), report.warnings());
            if (!measure) {
                table.print(out);
            }
        });
    }

    private static Machine checked(Machine machine, List<Integer> gpus, List<String> remarks) {
        if (gpus.contains(-1)) {
            return machine;
        }
        PeerChecks checks = PeerChecks.of(machine, gpus);
        remarks.addAll(checks.warnings());
        return checks.machine();
    }

    private MeasuredLinks measured(Machine machine, List<Integer> gpus) {
        if (gpus.contains(-1)) {
            throw new IllegalStateException(
                    machine.devices().get(gpus.indexOf(-1)).name()
                            + " is hidden from CUDA, so its copies can't be timed; unset CUDA_VISIBLE_DEVICES");
        }
        long length = bytes == null ? DEFAULT_BYTES : bytes.bytes();
        Duration patience = Duration.ofSeconds(deadline == null ? DEFAULT_SECONDS : deadline);
        long pairs = (long) machine.size() * machine.size();
        try (PeerMeter meter = new PeerMeter(gpus, length, patience);
                Progress progress = Progress.start("pairs", pairs, err())) {
            return MeasuredLinks.of(machine, meter, progress::step);
        }
    }

    /** The GPU of each device, as CUDA counts them; -1 for one that CUDA does not see. */
    private static List<Integer> gpus(Machine machine, List<String> busIds) {
        return machine.devices().stream()
                .map(device -> busIds.indexOf(device.busId()))
                .toList();
    }
}
