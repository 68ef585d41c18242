package dev.banyan.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.cuda.emulator.CudaEmulator;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Processes that hold ranks on GPUs of one machine, each with a driver of its own. */
@Timeout(120)
@EnabledOnOs(OS.LINUX)
class JoinedGpusTest {
    @TempDir
    private Path folder;

    /** Each process sees GPUs 0 to 3 of a machine whose GPUs are at these bus ids. */
    private static final String MACHINE = "devices 4 switched\nworkers 2\n";

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {"0;1 | packing | 23", "0;1;2;3 | packing | 61", "0;1,2;3 | single-tree | 61", "0,0;1 | ring | 61"})
    void everyKindOfCallGivesTheBitsOfTheHost(String devices, String algorithm, int step) throws Exception {
        assertAllAreDone("compare", devices, algorithm, step);
    }

    @ParameterizedTest
    @Tag("soak")
    @Timeout(3600)
    @CsvSource(
            delimiter = '|',
            value = {
                "0;1 | star",
                "0;1;2;3 | packing",
                "0;1;2;3 | ring",
                "0;1;2;3 | star",
                "0;1;2;3 | one-shot",
                "0,1;2,3 | packing",
                "0;1,2;3 | multi-tree",
                "0,0;1,1 | single-tree"
            })
    void everyKindOfCallByEveryAlgorithm(String devices, String algorithm) throws Exception {
        assertAllAreDone("compare", devices, algorithm, 1);
    }

    private void assertAllAreDone(String program, String devices, String algorithm, int number) throws Exception {
        List<Process> processes = start(program, devices, algorithm, number, 60_000);
        try {
            for (Process process : processes) {
                assertThat(lastLine(process.inputReader())).isEqualTo("done");
            }
        } finally {
            end(processes);
        }
    }

    /** Each has one GPU, its device 0. */
    @Test
    void processesMaySeeOneGpuAlone() throws Exception {
        List<Process> processes = new ArrayList<>();
        try {
            for (int p = 0; p < 2; p++) {
                Path machine = Files.writeString(
                        folder.resolve("machine" + p), "devices 1\nworkers 2\nbus 0 0000:00:1" + p + ".0\n");
                processes.add(builder(machine, "compare", 2, "0", "ring", 97, p, 2, 60_000)
                        .start());
            }
            for (Process process : processes) {
                assertThat(lastLine(process.inputReader())).isEqualTo("done");
            }
        } finally {
            end(processes);
        }
    }

    @Test
    void devicesWithoutPeerAccessAreNamed() throws Exception {
        List<Process> processes = start(MACHINE + "peer 0 1 none\n", "sum", "0;1", "auto", 1, 20_000);
        try {
            assertThat(lastLine(processes.get(0).inputReader()))
                    .startsWith(
                            "failed: device 0 cannot open the memory of rank 1: CUDA_ERROR_PEER_ACCESS_UNSUPPORTED");
        } finally {
            end(processes);
        }
    }

    @Test
    void graphsAreRefused() throws Exception {
        List<Process> processes = new ArrayList<>();
        try {
            for (int p = 0; p < 2; p++) {
                Path machine = Files.writeString(folder.resolve("machine"), MACHINE);
                ProcessBuilder builder = builder(machine, "sum", 2, Integer.toString(p), "auto", 1, p, 2, 20_000);
                builder.environment().put("BANYAN_CUDA_EXECUTOR", "graph");
                processes.add(builder.start());
            }
            for (Process process : processes) {
                assertThat(lastLine(process.inputReader()))
                        .startsWith("failed: graphs of copies have all ranks in one process; unset ");
            }
        } finally {
            end(processes);
        }
    }

    @Test
    void aProcessThatLeavesIsNamed() throws Exception {
        List<Process> processes = start("leave", "0;1;2", "star", 5, 5_000);
        try {
            List<String> last = new ArrayList<>();
            for (Process process : processes) {
                last.add(lastLine(process.inputReader()));
            }
            assertThat(last.subList(1, 3))
                    .allMatch(line -> line.startsWith(
                            "failed: rank 0 (process " + processes.get(0).pid() + ") has closed its communicator"));
        } finally {
            end(processes);
        }
    }

    @Test
    void otherCallsAreNoticed() throws Exception {
        List<Process> processes = start("differ", "0;1", "auto", 1, 20_000);
        try {
            for (Process process : processes) {
                assertThat(lastLine(process.inputReader()))
                        .startsWith("failed: ")
                        .contains("process ");
            }
        } finally {
            end(processes);
        }
    }

    @Test
    void aKilledProcessIsNamedByAllOthers() throws Exception {
        kill(3);
    }

    @Test
    @Tag("soak")
    @Timeout(3600)
    void manyKilledProcessesAreNamedByAllOthers() throws Exception {
        kill(100);
    }

    private void kill(int times) throws Exception {
        SplittableRandom random = new SplittableRandom(20);
        for (int i = 0; i < times; i++) {
            int victim = random.nextInt(3);
            int calls = 1 + random.nextInt(100);
            long spins = random.nextLong(200_000);
            List<Process> processes = start("sum", "0;1;2", "auto", Integer.MAX_VALUE, 20_000);
            try {
                List<BufferedReader> outputs =
                        processes.stream().map(Process::inputReader).toList();
                awaitCall(outputs.get(victim), calls);
                for (long s = 0; s < spins; s++) {
                    Thread.onSpinWait();
                }
                processes.get(victim).destroyForcibly();
                for (int p = 0; p < 3; p++) {
                    if (p != victim) {
                        assertThat(lastLine(outputs.get(p)))
                                .as("case %d, process %d of which %d was killed", i, p, victim)
                                .startsWith("failed: ")
                                .contains("rank " + victim + " (process "
                                        + processes.get(victim).pid() + ") ended before ");
                    }
                }
            } finally {
                end(processes);
            }
        }
    }

    private List<Process> start(String program, String devices, String algorithm, int number, int timeoutMillis)
            throws IOException {
        return start(MACHINE, program, devices, algorithm, number, timeoutMillis);
    }

    /** @param devices of each process, separated by semicolons */
    private List<Process> start(
            String machine, String program, String devices, String algorithm, int number, int timeoutMillis)
            throws IOException {
        Path file = Files.writeString(folder.resolve("machine"), machine);
        String[] ofProcess = devices.split(";", -1);
        int ranks = devices.split("[;,]", -1).length;
        List<Process> processes = new ArrayList<>();
        for (int p = 0; p < ofProcess.length; p++) {
            processes.add(
                    builder(file, program, ranks, ofProcess[p], algorithm, number, p, ofProcess.length, timeoutMillis)
                            .start());
        }
        return processes;
    }

    private ProcessBuilder builder(
            Path machine,
            String program,
            int ranks,
            String devices,
            String algorithm,
            int number,
            int process,
            int count,
            int timeoutMillis) {
        ProcessBuilder builder = new ProcessBuilder(
                ProcessHandle.current().info().command().orElseThrow(),
                "--enable-native-access=ALL-UNNAMED",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path"),
                JoinedGpuProgram.class.getName(),
                program,
                Integer.toString(ranks),
                devices,
                algorithm,
                Integer.toString(number));
        builder.environment().put("LD_LIBRARY_PATH", CudaEmulator.build().toString());
        builder.environment().put("BANYAN_EMULATED_CUDA", machine.toString());
        builder.environment().put("BANYAN_RANK", Integer.toString(process));
        builder.environment().put("BANYAN_WORLD_SIZE", Integer.toString(count));
        builder.environment().put("BANYAN_RENDEZVOUS", folder.resolve("job").toString());
        builder.environment().put("BANYAN_TIMEOUT_MS", Integer.toString(timeoutMillis));
        builder.environment().put("BANYAN_CUDA_EXECUTOR", "auto");
        builder.redirectError(folder.resolve("errors" + process).toFile());
        return builder;
    }

    private static void end(List<Process> processes) throws InterruptedException {
        processes.forEach(Process::destroyForcibly);
        for (Process process : processes) {
            process.waitFor();
        }
    }

    private static void awaitCall(BufferedReader output, int call) throws IOException {
        for (String line = output.readLine(); line != null; line = output.readLine()) {
            if (line.equals("call " + call)) {
                return;
            }
        }
        throw new AssertionError("the process ended before call " + call);
    }

    private static String lastLine(BufferedReader output) throws IOException {
        String last = "";
        for (String line = output.readLine(); line != null; line = output.readLine()) {
            last = line;
        }
        return last;
    }
}
