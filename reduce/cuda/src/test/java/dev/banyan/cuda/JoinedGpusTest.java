package dev.banyan.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.cuda.emulator.CudaEmulator;
import dev.banyan.test.Processes;
import dev.banyan.test.TestProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Processes that hold ranks on GPUs of one machine, each with a driver of its own. */
@EnabledOnOs(OS.LINUX)
class JoinedGpusTest {
    /** Each process sees GPUs 0 to 3 of a machine whose GPUs are at these bus ids. */
    private static final String MACHINE = "devices 4 switched\nworkers 2\n";

    /** As a communicator keeps what it allocates, thousands of calls need more than an emulated GPU usually has. */
    private static final String MUCH_MEMORY = "memory all " + (4L << 30) + "\n";

    /** The same with a switch that adds up. */
    private static final String SWITCH = MACHINE + "capability all 9 0\nmulticast on\n";

    /** Calls of processes that one leaves. */
    private static final int LEAVE_AFTER = 5;

    @RegisterExtension
    private final Processes processes = new Processes();

    @TempDir
    private Path folder;

    /**
     * The program of all processes.
     *
     * @param devices of each process, separated by semicolons
     */
    private record Case(String program, String devices, String algorithm, int number, String executor) {
        Case(String program, String devices, String algorithm, int number) {
            this(program, devices, algorithm, number, "auto");
        }

        String of(int process) {
            return String.join(
                    ":",
                    program,
                    Integer.toString(devices.split("[;,]", -1).length),
                    devices.split(";", -1)[process],
                    algorithm,
                    Integer.toString(number),
                    executor);
        }
    }

    @Test
    void twoProcessesGiveTheBitsOfTheHostAndNoticeWhatDoesNotFit() throws Exception {
        List<TestProcess> two = start(
                2,
                MACHINE + "peer 2 3 none\n",
                new Case("sum", "0;1", "auto", 1, "graph"),
                new Case("compare", "0;1", "packing", 61),
                new Case("compare", "0,0;1", "ring", 61),
                new Case("sum", "2;3", "auto", 1),
                new Case("differ", "0;1", "auto", 1),
                new Case("exchange", "0;1", "packing", 89),
                new Case("exchange", "0,0;1", "star", 97),
                new Case("reproducible", "0;1", "packing", 1),
                new Case("late", "0;1", "packing", 2));
        for (TestProcess process : two) {
            List<String> ends = ends(process);
            assertThat(ends).hasSize(9);
            assertThat(ends.get(0)).startsWith("failed: graphs of copies have all ranks in one process; unset ");
            assertThat(ends.subList(1, 3)).containsOnly("done");
            assertThat(ends.get(3))
                    .startsWith("failed: ")
                    .contains("CUDA_ERROR_INVALID_DEVICE; see that they have peer access ");
            assertThat(ends.get(4)).startsWith("failed: ").contains("process ");
            assertThat(ends.subList(5, 8)).containsOnly("done");
        }
        assertThat(ends(two.get(1)).get(8)).contains(" for rank 0 at rank 1 before it loads");
        assertThat(ends(two.get(0)).get(8)).startsWith("failed: ").contains("rank 1");
        assertThat(ends(two.get(0)).get(3)).startsWith("failed: devices [2] cannot touch the memory of rank 1, as ");
    }

    /** A call of the driver may fail in one process: all go on without the switch, and nothing is left. */
    @Test
    void theSwitchAddsUpForTwoProcessesUnlessOneCannot() throws Exception {
        List<TestProcess> two = start(
                2,
                SWITCH,
                new Case("multicast", "0,1;2", "packing", 97),
                new Case("0 cuMulticastCreate", "0,1;2", "packing", 1),
                new Case("1 cuMulticastBindAddr", "0,1;2", "packing", 1),
                // The fourth mapping, behind those of the memory of all ranks.
                new Case("1 cuMemMap", "0,1;2", "packing", 4),
                new Case("alone", "0;1", "packing", 1));
        for (TestProcess process : two) {
            assertThat(ends(process)).hasSize(5).containsOnly("done");
        }
    }

    @ParameterizedTest
    @Tag("soak")
    @CsvSource(
            delimiter = '|',
            value = {
                "0;1;2 | packing",
                "0,1;2,3 | packing",
                "0;1;2;3 | packing",
                "0;1,2;3 | packing",
                "0,1;2,3 | star",
                "0;1;2;3 | star"
            })
    void everyKindOfCallInTheSwitch(String devices, String algorithm) throws Exception {
        everyKind(SWITCH, "multicast", devices, algorithm, 3);
    }

    @ParameterizedTest
    @Tag("soak")
    @CsvSource({
        "0 cuMemExportToShareableHandle, 3",
        "0 cuMulticastAddDevice, 1",
        "1 cuMemImportFromShareableHandle, 3",
        "1 cuMulticastAddDevice, 1",
        "1 cuMulticastBindAddr, 1",
        "1 cuMemAddressReserve, 4",
        "1 cuMemMap, 4",
        "1 cuMemSetAccess, 4"
    })
    void eachRefusalInOneProcessIsMet(String function, int number) throws Exception {
        for (TestProcess process : start(2, SWITCH, new Case(function, "0,1;2", "packing", number))) {
            assertThat(process.lastLine()).isEqualTo("done");
        }
    }

    /** GPUs that two processes share, and one whose driver has no multicast objects. */
    @Test
    @Tag("soak")
    void withoutMulticastObjectsInAllProcessesThereAreNone() throws Exception {
        Case apart = new Case("alone", "0,1;2", "packing", 1);
        Case shared = new Case("alone", "0,0;1,2", "packing", 1);
        List<TestProcess> two = List.of(
                start(0, 2, SWITCH, apart, shared),
                start(1, 2, SWITCH.replace("multicast on", "multicast none"), apart, shared));
        for (TestProcess process : two) {
            assertThat(process.out()).isEqualTo("done\ndone\n");
        }
    }

    /** As under WSL. */
    @Test
    @Tag("soak")
    void aDriverThatSharesNoMemoryIsRefusedInAllProcesses() throws Exception {
        Case alone = new Case("alone", "0;1", "packing", 1);
        List<TestProcess> two = List.of(start(0, 2, SWITCH, alone), start(1, 2, SWITCH + "descriptors none\n", alone));
        for (TestProcess process : two) {
            assertThat(process.lastLine())
                    .startsWith("failed: the driver of the GPU of rank 1, ")
                    .contains(", lets no other process share its memory ")
                    .endsWith("; hold all ranks in one process");
        }
    }

    /** Kills one of three processes while all make multicast objects. */
    @Test
    @Tag("soak")
    void aProcessThatIsKilledWhileMemoryIsAllocatedIsNamed() throws Exception {
        for (int seed = 0; seed < 10; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            kill(seed, random, new Case("allocate", "0;1;2", "packing", 1_000));
        }
    }

    @Test
    void threeProcessesGiveTheBitsOfTheHostAndNameOneThatLeavesOrIsKilled() throws Exception {
        List<TestProcess> three = killOne(
                0,
                new Case("compare", "0;1,2;3", "single-tree", 61),
                new Case("compare", "0;1;2", "packing", 97),
                new Case("exchange", "0;1,2;3", "one-shot", 151),
                new Case("batches", "0;1;2", "packing", 3),
                new Case("leave", "0;1;2", "star", LEAVE_AFTER));
        for (TestProcess process : three) {
            assertThat(ends(process).subList(0, 4)).containsOnly("done");
        }
        for (TestProcess process : three.subList(1, 3)) {
            assertThat(ends(process).get(4))
                    .startsWith("failed: rank 0 (process " + three.get(0).pid() + ") has closed its communicator");
        }
    }

    /** Kills a process at a random moment of many calls. */
    @Test
    @Tag("soak")
    void manyKilledProcessesAreNamedByAllOthers() throws Exception {
        for (int seed = 0; seed < 100; seed++) {
            killOne(seed);
        }
    }

    /**
     * Kills one of three processes in the midst of calls that all make after some cases, and returns them when the
     * others have named it.
     */
    private List<TestProcess> killOne(int seed, Case... before) throws Exception {
        SplittableRandom random = new SplittableRandom(seed);
        Case sums = seed % 2 == 0
                ? new Case("exchanged-sum", "0;1;2", "packing", Integer.MAX_VALUE)
                : new Case("sum", "0;1;2", "auto", Integer.MAX_VALUE);
        return kill(
                seed, random, Stream.concat(Stream.of(before), Stream.of(sums)).toArray(Case[]::new));
    }

    private List<TestProcess> kill(int seed, SplittableRandom random, Case... cases) throws Exception {
        int victim = random.nextInt(3);
        int calls = LEAVE_AFTER + 1 + random.nextInt(20);
        long spins = random.nextLong(200_000);
        List<TestProcess> three = start(3, SWITCH, cases);
        three.get(victim).awaitLine("call " + calls);
        for (long s = 0; s < spins; s++) {
            Thread.onSpinWait();
        }
        three.get(victim).kill();
        for (int p = 0; p < 3; p++) {
            if (p != victim) {
                assertThat(three.get(p).lastLine())
                        .as("seed %d, process %d of which %d was killed", seed, p, victim)
                        .startsWith("failed: ")
                        .contains("rank " + victim + " (process "
                                + three.get(victim).pid() + ") ended before ");
            }
        }
        return three;
    }

    private static List<String> ends(TestProcess process) throws InterruptedException {
        return process.out().lines().filter(line -> !line.startsWith("call ")).toList();
    }

    @ParameterizedTest
    @Tag("soak")
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
        everyKind(MACHINE, "compare", devices, algorithm, 1);
    }

    @ParameterizedTest
    @Tag("soak")
    @CsvSource(
            delimiter = '|',
            value = {
                "0;1 | packing",
                "0;1;2;3 | star",
                "0;1;2;3 | one-shot",
                "0,1;2,3 | star",
                "0;1,2;3 | one-shot",
                "0,0;1,1 | star"
            })
    void everyKindOfExchangeByEachAlgorithm(String devices, String algorithm) throws Exception {
        everyKind(MACHINE, "exchange", devices, algorithm, 1);
    }

    private void everyKind(String machine, String program, String devices, String algorithm, int step)
            throws Exception {
        int number = devices.split(";", -1).length;
        for (TestProcess process : start(number, machine + MUCH_MEMORY, new Case(program, devices, algorithm, step))) {
            assertThat(process.lastLine()).isEqualTo("done");
        }
    }

    /** Each has one GPU, its device 0. */
    @Test
    void processesMaySeeOneGpuAlone() throws Exception {
        Case compare = new Case("compare", "0;0", "ring", 97);
        List<TestProcess> two = new ArrayList<>();
        for (int p = 0; p < 2; p++) {
            two.add(start(p, 2, "devices 1\nworkers 2\nbus 0 0000:00:1" + p + ".0\n", compare));
        }
        for (TestProcess process : two) {
            assertThat(process.lastLine()).isEqualTo("done");
        }
    }

    private List<TestProcess> start(int number, String machine, Case... cases) throws IOException {
        List<TestProcess> started = new ArrayList<>();
        for (int p = 0; p < number; p++) {
            started.add(start(p, number, machine, cases));
        }
        return started;
    }

    private TestProcess start(int process, int number, String machine, Case... cases) throws IOException {
        Path file = Files.writeString(folder.resolve("machine" + process), machine);
        ProcessBuilder builder = new ProcessBuilder(Processes.java(
                List.of("-Djava.io.tmpdir=" + folder),
                JoinedGpuProgram.class.getName(),
                Arrays.stream(cases).map(each -> each.of(process)).toArray(String[]::new)));
        builder.environment().put("LD_LIBRARY_PATH", CudaEmulator.build().toString());
        builder.environment().put("BANYAN_EMULATED_CUDA", file.toString());
        builder.environment().put("BANYAN_RANK", Integer.toString(process));
        builder.environment().put("BANYAN_WORLD_SIZE", Integer.toString(number));
        builder.environment().put("BANYAN_RENDEZVOUS", folder.resolve("job").toString());
        return processes.start(builder);
    }
}
