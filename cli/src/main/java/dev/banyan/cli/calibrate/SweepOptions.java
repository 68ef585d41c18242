package dev.banyan.cli.calibrate;

import dev.banyan.InputException;
import dev.banyan.cli.input.MachineOptions;
import dev.banyan.cli.output.OptionGroup;
import dev.banyan.cli.output.RunContext;
import dev.banyan.schedule.type.Collective;
import dev.banyan.simulate.Profile;
import dev.banyan.simulate.Profiles;
import dev.banyan.simulate.internal.nccl.Transport;
import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.study.measured.ComparedSweep;
import dev.banyan.study.measured.NcclLog;
import dev.banyan.study.measured.NcclLogReader;
import dev.banyan.study.measured.OwnSweep;
import dev.banyan.study.measured.PublishedSweep;
import dev.banyan.study.measured.PublishedSweeps;
import dev.banyan.study.measured.sweep.MeasuredSweep;
import dev.banyan.study.measured.sweep.NcclSweepReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;

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
     * @param sweeps in the order of the published sweeps, then by name
     * @param leftOut files that are no sweeps that can be compared, each with the reason
     * @param own what {@code --machine} names; empty where the files' names say it
     */
    public record Found(List<ComparedSweep> sweeps, List<String> leftOut, Optional<ChosenMachine> own) {
        /** Returns the context of the report; files of published sweeps have machines and profiles of their own. */
        public RunContext context() {
            return own.map(chosen -> RunContext.of(chosen.machine())
                            .with(sweeps.getFirst().profile().name()))
                    .orElse(RunContext.NONE);
        }
    }

    /**
     * Reads the sweeps.
     *
     * @param log what NCCL printed in the same run; null to take what the files themselves hold
     * @throws ParameterException if the options make no sense
     * @throws IllegalStateException if there is no sweep
     */
    public Found read(@Nullable NcclLog log) {
        Optional<ChosenMachine> own = own();
        List<ComparedSweep> found = new ArrayList<>();
        List<String> leftOut = new ArrayList<>();
        List<InputException> refused = new ArrayList<>();
        for (Path file : files()) {
            String name = String.valueOf(file.getFileName());
            Optional<PublishedSweep> published = own.isPresent() ? Optional.empty() : PublishedSweeps.find(name);
            if (own.isEmpty() && published.isEmpty()) {
                leftOut.add(name + ": " + PublishedSweeps.leftOut(name).orElseGet(() -> unknown(file)));
                continue;
            }
            attempt(refused, () -> {
                List<MeasuredSweep> all = NcclSweepReader.read(file);
                Function<MeasuredSweep, Optional<NcclLog>> logs =
                        log != null ? _ -> Optional.of(log) : NcclLogReader.within(file);
                for (MeasuredSweep sweep : all) {
                    attempt(refused, () -> found.add(compared(file, sweep, own, published, logs.apply(sweep))));
                }
            });
        }
        refused.forEach(each -> leftOut.add(each.getMessage()));
        if (found.isEmpty() && !refused.isEmpty()) {
            throw refused.getFirst();
        }
        if (found.isEmpty()) {
            throw new IllegalStateException("nothing to compare; name files of nccl-tests by --sweeps"
                    + (leftOut.isEmpty() ? "" : "; left out: " + String.join("; ", leftOut)));
        }
        return new Found(found, leftOut, own);
    }

    private Optional<ChosenMachine> own() {
        if (given("--machine") || given("--collective") || given("--devices-per-process") || given("--transport")) {
            ChosenMachine own = machine.choose(2);
            checkProcesses(own);
            return Optional.of(own);
        }
        if (given("--devices") || given("--unit")) {
            throw wrong("--devices and --unit need --machine");
        }
        return Optional.empty();
    }

    /** A sweep that is refused leaves the others of its file as they are. */
    private static void attempt(List<InputException> refused, Runnable reading) {
        try {
            reading.run();
        } catch (InputException e) {
            refused.add(e);
        }
    }

    private ComparedSweep compared(
            Path file,
            MeasuredSweep sweep,
            Optional<ChosenMachine> own,
            Optional<PublishedSweep> published,
            Optional<NcclLog> log) {
        PublishedSweep setting = published.orElseGet(() -> OwnSweep.of(
                String.valueOf(file.getFileName()) + (sweep.isAlone() ? "" : ":" + sweep.line()),
                sweep,
                own.orElseThrow().machine(),
                new OwnSweep.Stated(
                        Optional.ofNullable(collective),
                        Optional.ofNullable(devicesPerProcess),
                        Optional.ofNullable(transport).map(use -> use.transport),
                        given("--devices"),
                        log)));
        Profile by = profile == null ? Profiles.of(setting.machine()) : profile;
        return ComparedSweep.of(setting, sweep, by, log);
    }

    private boolean given(String option) {
        return command().getParseResult().hasMatchedOption(option);
    }

    private void checkProcesses(ChosenMachine chosen) {
        int most = chosen.machine().size();
        if (devicesPerProcess != null && (devicesPerProcess < 1 || devicesPerProcess > most)) {
            throw wrong("--devices-per-process is " + devicesPerProcess + "; "
                    + chosen.machine().name() + " has " + most + " devices");
        }
    }

    private String unknown(Path file) {
        if (sweeps.contains(file)) {
            if (!Files.exists(file)) {
                throw wrong("there is no file or folder '" + file + "'; name what nccl-tests printed");
            }
            throw wrong("'" + file + "' is no published sweep that is known; say"
                    + " by --machine on what it was measured");
        }
        return "not known; say by --machine on what it was measured";
    }

    /** The files of folders in the order of the published sweeps, then by name. */
    private List<Path> files() {
        List<Path> files = new ArrayList<>();
        for (Path path : sweeps) {
            if (!Files.isDirectory(path)) {
                files.add(path);
                continue;
            }
            try (Stream<Path> inside = Files.list(path)) {
                List<Path> sorted = inside.filter(Files::isRegularFile).sorted().toList();
                List<String> known =
                        PublishedSweeps.all().stream().map(PublishedSweep::file).toList();
                known.forEach(name ->
                        sorted.stream().filter(file -> file.endsWith(name)).forEach(files::add));
                sorted.stream()
                        .filter(file -> !known.contains(String.valueOf(file.getFileName())))
                        .forEach(files::add);
            } catch (IOException e) {
                throw new UncheckedIOException("can't list " + path + " (" + e.getMessage() + ")", e);
            }
        }
        return files;
    }
}
