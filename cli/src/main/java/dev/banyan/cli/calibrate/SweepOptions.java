package dev.banyan.cli.calibrate;

import dev.banyan.cli.input.MachineOptions;
import dev.banyan.cli.output.OptionGroup;
import dev.banyan.cli.output.RunContext;
import dev.banyan.schedule.type.Collective;
import dev.banyan.simulate.Profile;
import dev.banyan.simulate.internal.nccl.Transport;
import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.study.measured.ComparedSweeps;
import dev.banyan.study.measured.NcclLog;
import dev.banyan.study.measured.OwnSweep;
import dev.banyan.study.measured.PublishedSweeps;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** The options that name sweeps of nccl-tests and what they were measured on. */
public final class SweepOptions extends OptionGroup {
    @Option(
            names = "--sweeps",
            required = true,
            arity = "1..*",
            paramLabel = "FILE|DIR",
            description = "What nccl-tests printed, or a table with commas; of a folder all files but those left out.")
    private List<Path> sweeps = List.of(); // replaced by picocli

    @Mixin
    private final MachineOptions machine = new MachineOptions();

    @Option(
            names = "--profile",
            paramLabel = "NAME|FILE",
            description = "Profile to simulate with (default: the built-in one that fits the machine).")
    private @Nullable Profile profile;

    @Option(
            names = "--collective",
            description = "What a file of your own measured (default: what the file says, else all_reduce).")
    private @Nullable Collective collective;

    @Option(
            names = "--devices-per-process",
            paramLabel = "N",
            description =
                    "How many devices one process drove in it: -g times -t of nccl-tests (default: what the file says,"
                            + " else 1).")
    private @Nullable Integer devicesPerProcess;

    @Option(
            names = "--transport",
            description =
                    "peer, or host where NCCL had neither NVLink nor peer access (default: what the log of NCCL says,"
                            + " else what the machine has).")
    private @Nullable LinkUse transport;

    /** The values of {@code --transport}. */
    enum LinkUse {
        peer(Transport.PEER),
        host(Transport.HOST);

        private final Transport transport;

        LinkUse(Transport transport) {
            this.transport = transport;
        }
    }

    /**
     * The sweeps that are named.
     *
     * @param compared the sweeps
     * @param own what {@code --machine} names; empty where the files' names say it
     */
    public record Found(ComparedSweeps compared, Optional<ChosenMachine> own) {
        /** Returns the context of the report; files of published sweeps have machines and profiles of their own. */
        public RunContext context() {
            return own.map(chosen -> RunContext.of(chosen.machine())
                            .with(compared.sweeps().getFirst().profile().name()))
                    .orElse(RunContext.NONE);
        }
    }

    /**
     * Reads the sweeps.
     *
     * @param log what NCCL printed in the same run; empty to take what the files themselves hold
     * @throws picocli.CommandLine.ParameterException if the options make no sense
     * @throws IllegalStateException if there is no sweep
     */
    public Found read(Optional<NcclLog> log) {
        Optional<ChosenMachine> own = own();
        if (own.isEmpty()) {
            sweeps.forEach(this::refuseUnknown);
        }
        OwnSweep.Stated stated = new OwnSweep.Stated(
                Optional.ofNullable(collective),
                Optional.ofNullable(devicesPerProcess),
                Optional.ofNullable(transport).map(use -> use.transport),
                machine.devices() != null,
                log);
        return new Found(ComparedSweeps.read(sweeps, own.map(ChosenMachine::machine), stated, profile), own);
    }

    /** Refuses a file that is no published sweep. */
    private void refuseUnknown(Path file) {
        String name = String.valueOf(file.getFileName());
        boolean isKnown = PublishedSweeps.find(name).isPresent()
                || PublishedSweeps.leftOut(name).isPresent();
        require(
                isKnown || Files.exists(file),
                "there is no file or folder '" + file + "'; name what nccl-tests printed");
        require(
                isKnown || Files.isDirectory(file),
                "'" + file + "' is no published sweep that is known; say by --machine on what it was measured");
    }

    private Optional<ChosenMachine> own() {
        if (given("--machine") || given("--collective") || given("--devices-per-process") || given("--transport")) {
            ChosenMachine own = machine.choose(2);
            checkProcesses(own);
            return Optional.of(own);
        }
        require(machine.devices() == null && !given("--unit"), "--devices, -g and --unit need --machine");
        return Optional.empty();
    }

    private boolean given(String option) {
        return command().getParseResult().hasMatchedOption(option);
    }

    private void checkProcesses(ChosenMachine chosen) {
        int most = chosen.machine().size();
        require(
                devicesPerProcess == null || (devicesPerProcess >= 1 && devicesPerProcess <= most),
                "--devices-per-process is " + devicesPerProcess + "; "
                        + chosen.machine().name() + " has " + most + " devices");
    }
}
