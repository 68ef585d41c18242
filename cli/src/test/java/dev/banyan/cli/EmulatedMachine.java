package dev.banyan.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.cuda.emulator.CudaEmulator;
import dev.banyan.test.Processes;
import dev.banyan.test.TestProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Runs the command in a process whose loader finds the emulated CUDA driver and the stand-in for NVML of
 * {@code nvml-probe}: a p3.16xlarge.
 *
 * @param cuda where the loader finds CUDA's driver
 * @param drivers folder of the stand-in
 * @param processes of the test
 */
record EmulatedMachine(Path cuda, Path drivers, Processes processes) {
    private static final Path MODULES = Path.of(System.getProperty("banyan.modules", ".."));

    /**
     * Builds the drivers; skips the test where there is no C compiler.
     *
     * @param drivers an empty folder
     */
    static EmulatedMachine build(Path drivers, Processes processes) throws IOException, InterruptedException {
        Path cuda = CudaEmulator.build();
        assertThat(run(
                        List.of(
                                "gcc",
                                "-shared",
                                "-fPIC",
                                "-o",
                                drivers.resolve("libnvidia-ml.so.1").toString(),
                                MODULES.resolve("nvml-probe/src/test/native/nvml_stand_in.c")
                                        .toString(),
                                "-ldl"),
                        processes))
                .matches(run -> run.status() == 0);
        Files.copy(
                MODULES.resolve("nvml-probe/src/test/resources/dev/banyan/nvml/p3.16xlarge.txt"),
                drivers.resolve("machine.txt"));
        return new EmulatedMachine(cuda, drivers, processes);
    }

    /** The stand-in for NVML. */
    Path nvml() {
        return drivers.resolve("libnvidia-ml.so.1");
    }

    EmulatedMachine withDriver(Path folder) {
        return new EmulatedMachine(folder, drivers, processes);
    }

    /**
     * Runs the command.
     *
     * @param folder for a file of commands
     * @param commands of the emulated driver
     * @param arguments with single spaces between
     */
    CommandRun banyan(Path folder, String commands, String arguments) throws IOException, InterruptedException {
        return run(folder, commands, Processes.java(List.of(), "dev.banyan.cli.Main", arguments.split(" ", -1)));
    }

    /** Runs any program with the drivers of this machine. */
    CommandRun run(Path folder, String commands, List<String> program) throws IOException, InterruptedException {
        Path emulated = Files.writeString(folder.resolve("emulated.txt"), commands);
        List<String> command = new ArrayList<>(List.of(
                "/usr/bin/env",
                "LD_LIBRARY_PATH=" + cuda,
                "BANYAN_NVML_LIBRARY=" + nvml(),
                "BANYAN_EMULATED_CUDA=" + emulated));
        command.addAll(program);
        return run(command, processes);
    }

    static CommandRun run(List<String> command, Processes processes) throws IOException, InterruptedException {
        TestProcess process = processes.start(new ProcessBuilder(command));
        return new CommandRun(process.await(), process.out(), process.err());
    }
}
