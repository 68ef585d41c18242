package dev.banyan.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;
import static org.junit.jupiter.api.parallel.ExecutionMode.CONCURRENT;

import com.sun.management.OperatingSystemMXBean;
import dev.banyan.test.Processes;
import dev.banyan.topology.Machine;
import dev.banyan.topology.NoPeerAccess;
import dev.banyan.topology.format.MachineReader;
import dev.banyan.topology.option.MatrixUnit;
import java.lang.management.ManagementFactory;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;

/**
 * Commands on emulated GPUs in processes of their own: they start processes, need another driver, try pairs of GPUs
 * anew, log warnings or wait for deadlines.
 */
@Execution(CONCURRENT)
class GpuProcessTest {
    private static final String ON_THE_ONLY_GPU =
            "bench --backend cuda --processes 2 -b 4K -e 4K -n 1 -w 0 --algorithm star --devices ";

    @TempDir
    static Path drivers;

    private static @Nullable EmulatedMachine built;

    @RegisterExtension
    private final Processes processes = new Processes();

    @TempDir
    private Path folder;

    @BeforeAll
    static void buildDrivers() throws Exception {
        built = EmulatedMachine.build(drivers, new Processes());
    }

    @Test
    void processesHaveAGpuEach() throws Exception {
        CommandRun run = apart(
                "", "bench --backend cuda --processes 2 --devices 5,1 -b 4K -e 4K -n 1 -w 0 --algorithm star,ring");
        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.out())
                .contains("2 processes on GPUs [5, 1]")
                .contains("# Out of bounds values : 0 OK")
                .containsPattern("# algorithm: ring\n +4096 +1024 ");
    }

    @Test
    @Tag("soak")
    void processesShareTheOnlyGpu() throws Exception {
        CommandRun run = apart("devices 1", ON_THE_ONLY_GPU + "0,0");
        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.out()).contains("2 processes on GPUs [0, 0]").contains("# Out of bounds values : 0 OK");
    }

    /** Each process sees one GPU, which only then is asked for its devices. */
    @Test
    void aProcessWithoutItsGpuSaysSo() throws Exception {
        CommandRun run = apart("devices 1", ON_THE_ONLY_GPU + "0,99");
        assertThat(run.status()).isNotZero();
        assertThat(run.err()).contains("device 99").doesNotContain("banyan: See");
    }

    @Test
    void aBrokenOrOldDriverIsOneSentence() throws Exception {
        Path driver = Files.writeString(folder.resolve("libcuda.so.1"), "no library");
        CommandRun broken = machine().withDriver(folder).banyan(folder, "", "selftest --backend cuda --devices 0");
        assertThat(broken.status()).isEqualTo(1);
        assertThat(broken.err())
                .startsWith("banyan: the NVIDIA driver can't be used: ")
                .containsOnlyOnce("\n");
        Path source = Files.writeString(folder.resolve("old.c"), "int cuInit(unsigned flags) { return flags; }");
        assertThat(EmulatedMachine.run(List.of("gcc", "-shared", "-o", driver.toString(), source.toString()), processes)
                        .status())
                .isZero();
        CommandRun old = machine().withDriver(folder).banyan(folder, "", "selftest --devices 0");
        assertThat(old.status()).isEqualTo(1);
        assertThat(old.err())
                .startsWith(
                        "banyan: the NVIDIA driver is too old: its libcuda.so.1 has no cuGraphInstantiateWithFlags; ")
                .containsOnlyOnce("\n");
    }

    @Test
    void pairsWithoutPeerAccessAndGpusOfOtherProcessesAreNamedOnce() throws Exception {
        Path claim = folder.resolve("banyan-gpu-" + "e0".repeat(15) + "06");
        CommandRun bench;
        try (FileChannel ofThisProcess =
                FileChannel.open(claim, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
            assertThat(ofThisProcess.tryLock()).isNotNull();
            bench = machine()
                    .run(
                            folder,
                            "uuids known",
                            Processes.java(
                                    List.of("-Djava.io.tmpdir=" + folder),
                                    "dev.banyan.cli.Main",
                                    ("bench --machine p3.16xlarge --backend cuda --devices 5,0,6,1 -b 4K -e 4K -n 1 -w"
                                                    + " 0 --algorithm star,ring")
                                            .split(" ", -1)));
        }
        assertThat(bench.status()).as(bench.err()).isZero();
        assertThat(bench.err())
                .containsOnlyOnce("no peer access")
                .contains("no peer access between the devices 0-5, 0-6, 1-6; data between them goes through the host")
                .containsOnlyOnce("another process has a communicator on device 6: the GPU gives each process its turn")
                .doesNotContain("on device 5");
    }

    @Test
    void devicesWhoseCopiesAreStuckAreNamedOnce() throws Exception {
        CommandRun bench = apart("stall 0 1", "bench --devices 0-3 -b 4K -e 4K -n 1 -w 0 --algorithm ring,star");
        assertThat(bench.status()).as(bench.err()).isZero();
        assertThat(bench.err())
                .containsOnlyOnce(
                        "peer access between devices 0 and 1 does not work (stores of kernels do not end); data of"
                                + " these devices goes through the host");
    }

    @Test
    void badPairsAreFoundAndKept() throws Exception {
        Path output = folder.resolve("machine.json");
        Path figures = folder.resolve("p2p.txt");
        CommandRun probe =
                apart("corrupt 1 2\nstall 4 6\n", "probe --measure --bytes 64K --deadline 10 --output " + output);
        assertThat(probe.status()).isZero();
        assertThat(probe.err())
                .contains("peer copies between GPU1-GPU2 arrive with wrong bytes")
                .contains("peer copies between GPU4-GPU6 do not end")
                .contains("iommu=off");
        Machine machine = new MachineReader(MatrixUnit.CLASSES).read(output);
        assertThat(NoPeerAccess.between(machine, 1, 2)).isTrue();
        assertThat(NoPeerAccess.between(machine, 4, 6)).isTrue();
        assertThat(NoPeerAccess.between(machine, 0, 5)).isTrue();
        // The emulator has no speed of its own, and on a busy machine its figures may be none that a link can have.
        Files.writeString(figures, probe.out().replaceAll("[0-9]+[.][0-9]+", "10.00"));
        CommandRun calibrate = CommandRun.of(
                "calibrate --from " + figures + " --machine " + output + " --output " + folder.resolve("c.json"));
        assertThat(calibrate.status()).as(calibrate.err()).isZero();

        CommandRun bench = apart(
                "stall 4 6\ncorrupt 1 2\n",
                "bench --machine " + output + " --devices 1,2,4,6 -b 4K -e 4K -n 1 -w 0 -a star");
        assertThat(bench.out()).contains("# Out of bounds values : 0 OK");
    }

    @Test
    @Tag("soak")
    void selftestsKeepApartWhatTheMachineKeepsApart() throws Exception {
        Path output = folder.resolve("machine.json");
        String corrupt = "corrupt 1 2\n";
        assertThat(apart(corrupt, "probe --measure --bytes 64K --output " + output)
                        .status())
                .isZero();
        String selftest = "selftest --devices 1,2 --algorithm star";
        String warning = "peer access between devices 1 and 2 does not work";
        // The backend finds out by its own trial; what probe found needs none.
        assertThat(apart(corrupt, selftest))
                .matches(run -> run.status() == 0 && run.err().contains(warning));
        assertThat(apart(corrupt, selftest + " --machine " + output))
                .matches(run -> run.status() == 0 && !run.err().contains(warning));
    }

    @Test
    @Tag("soak")
    void arraysMayBeAboveFourGibibytes() throws Exception {
        long free = ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getFreeMemorySize();
        assumeTrue(
                free > 19L << 30, "two ranks, each on the emulated GPU and on the host, need 18 GiB; free are " + free);
        CommandRun run = apart("memory 0 20000000000\n", "selftest --devices 0,0 --large --algorithm ring");
        assertThat(run.out()).as(run.toString()).contains("# 5 passed, 0 failed");
    }

    private EmulatedMachine machine() {
        EmulatedMachine all = Objects.requireNonNull(built);
        return new EmulatedMachine(all.cuda(), all.drivers(), processes);
    }

    private CommandRun apart(String commands, String arguments) throws Exception {
        return machine().banyan(folder, commands, arguments);
    }
}
