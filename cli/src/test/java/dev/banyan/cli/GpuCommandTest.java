package dev.banyan.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.banyan.cli.bench.SumHashesTest;
import dev.banyan.config.Config;
import dev.banyan.cuda.emulator.CudaEmulator;
import dev.banyan.cuda.emulator.NcclStandIn;
import dev.banyan.schedule.plan.Tuning;
import dev.banyan.schedule.plan.TuningFile;
import dev.banyan.schedule.type.Collective;
import dev.banyan.test.Processes;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/**
 * Commands on GPUs in this process, which has the emulated CUDA driver and the stand-in for NVML of {@code nvml-probe}:
 * a p3.16xlarge. {@link GpuProcessTest} has those that need a process of their own.
 */
class GpuCommandTest {
    @RegisterExtension
    static final Processes PROCESSES = new Processes();

    private static final String NCCL = "BANYAN_NCCL_LIBRARY";

    @TempDir
    static Path drivers;

    private static @Nullable EmulatedMachine machine;
    private static @Nullable CudaEmulator emulator;

    @TempDir
    Path folder;

    @BeforeAll
    static void buildDrivers() throws Exception {
        machine = EmulatedMachine.build(drivers, PROCESSES);
        emulator = CudaEmulator.load();
        System.setProperty("BANYAN_NVML_LIBRARY", machine.nvml().toString());
    }

    @Test
    void ranksShareAGpu() throws Exception {
        CommandRun bench = banyan("", "bench --devices 0,0,5,0 -b 4K -e 4K -n 1 -w 0 --algorithm ring");
        assertThat(bench.out()).contains("# measured on GPUs [0, 0, 5, 0]: ").contains("# Out of bounds values : 0 OK");
        CommandRun direct = banyan("", "bench --devices 0,0 -b 128K -e 128K -n 1 -w 0 -a one-shot,packing");
        assertThat(direct.out()).contains("# Out of bounds values : 0 OK");
        // One-shot in place goes by slots.
        assertThat(Objects.requireNonNull(emulator).count("kernels banyan_exchange"))
                .isEqualTo(3 * 2);
        Path keys = Files.writeString(folder.resolve("keys.csv"), "a,10\nb,2000\n");
        CommandRun workload = banyan("", "bench --devices 1,1 -n 1 --algorithm multi-tree --workload " + keys);
        assertThat(workload.out())
                .contains("2 calls, 8040 bytes on each of 2 devices")
                .contains("       0");
        assertThat(workload.status()).isZero();
    }

    @Test
    @Tag("soak")
    void reproducibleSumsOfGpusAndProcessesHaveTheHashOfEveryMachine() throws Exception {
        CommandRun run = banyan("", "selftest --reproducible --devices 0,1,2 --algorithm star");
        assertThat(run.out().lines())
                .as(run.err())
                .containsExactly(
                        "host, star: " + SumHashesTest.HASH,
                        "2 processes, auto: " + SumHashesTest.HASH,
                        "4 processes, auto: " + SumHashesTest.HASH,
                        "GPUs [0, 1, 2, 0, 1, 2, 0, 1], star: " + SumHashesTest.HASH,
                        "# hash: " + SumHashesTest.HASH);
    }

    @Test
    void gpusAreTuned() throws Exception {
        Path file = folder.resolve("banyan-tuned.ini");
        CommandRun tune = banyan("", "tune --devices 5,1 -b 1K -e 4K --collective broadcast --output " + file);
        assertThat(tune.status()).as(tune.err()).isZero();
        assertThat(tune.out())
                .contains("# measured on GPUs [5, 1], executor kernel (graphs where kernels cannot run): ");
        Config config = Config.builder().load(Map.of(), Map.of(), folder);
        assertThat(config.warnings()).isEmpty();
        Tuning tuning = TuningFile.of(config).orElseThrow().sections().getFirst();
        assertThat(tuning.platform().backend()).isEqualTo("cuda");
        assertThat(tuning.platform().device()).startsWith("2 x ");
        assertThat(tuning.platform().driver()).startsWith("CUDA ");
        assertThat(tuning.rules()).containsOnlyKeys(Collective.BROADCAST);
        assertThat(tuning.rules().get(Collective.BROADCAST)).matches(rules -> !rules.leavesOpen());

        CommandRun shared = banyan("", "tune --devices 0,0 -b 1K -e 1K --output " + file);
        assertThat(shared.out()).contains("# measured on GPUs [0, 0], executor");
        assertThat(banyan("", "tune --backend cuda --devices 0 --output " + file)
                        .err())
                .contains("needs at least 2 devices");
    }

    @Test
    void aStoreOfGpusIsTraced() throws Exception {
        Path traces = folder.resolve("traces");
        Path keys = Files.writeString(folder.resolve("keys.csv"), "a,10\nb,2000\n");
        CommandRun run = banyan(
                "", "trace run --devices 0,1 --iterations 1 --compute-ms 0 --output " + traces + " --workload " + keys);
        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.out()).contains("2 keys, 1 iteration on 2 devices");
        CommandRun stats = CommandRun.of("trace stats --format json " + traces.resolve("worker-0.txt"));
        assertThat(stats.json().get("keys").intValue()).isEqualTo(2);
    }

    /** The figures of the emulated driver mean nothing; each row has both, and every element is checked. */
    @Test
    void ncclRunsInTurnsOnTheSameBuffers() throws Exception {
        String few = " --devices 0-3 -b 1K -e 4K -f 4 -n 1 -w 0";
        CommandRun bench = withNccl("bench -a ring,nccl,star" + few);
        assertThat(bench.status()).as(bench.err()).isZero();
        assertThat(bench.out())
                .containsPattern("#       size +algorithm +ours +nccl +ratio +ours +nccl +bound +#wrong\n")
                .containsPattern("\n        1024 +ring( +[0-9.]+){6} +0\n        4096 +ring( +[0-9.]+){6} +0\n")
                .containsPattern("\n        4096 +star( +[0-9.]+){5} +75\\.00 ")
                .contains("# Out of bounds values : 0 OK");
        JsonNode rows = withNccl("bench -a auto,nccl --format json --collective all_gather" + few)
                .rows();
        assertThat(rows).hasSize(4);
        assertThat(rows.get(1).get("algorithm").asText()).isEqualTo("nccl");
        assertThat(rows.get(1).get("wrong").asInt()).isZero();
        CommandRun alone = withNccl("bench -a nccl --collective reduce -o max" + few);
        assertThat(alone.out()).contains("# Out of bounds values : 0 OK").contains("#wrong");
        CommandRun all = withNccl("bench -a nccl -o all -d int32 --devices 0,1 -b 1K -e 1K -n 1 -w 0");
        assertThat(all.status()).as(all.err()).isZero();
        assertThat(all.out()).contains("# int32, max\n").containsPattern("# left out: int32, avg: .*no mean");
        CommandRun missing = banyan("", "bench -a auto,nccl -o all" + few);
        assertThat(missing.status()).isEqualTo(1);
        assertThat(missing.err())
                .contains("banyan: no NCCL found: the loader knows no libnccl.so.2; install NCCL, or name the file by"
                        + " BANYAN_NCCL_LIBRARY\n");
    }

    @Test
    void ncclIsTestedAndTunedWhereItIsThere() throws Exception {
        CommandRun selftest = withNccl("selftest --short --devices 0,1 --algorithm nccl,ring");
        assertThat(selftest.status()).as(selftest.err()).isZero();
        assertThat(selftest.out())
                .containsPattern("nccl: [0-9]+ passed, 0 failed\n")
                .containsPattern("ring: [0-9]+ passed, 0 failed\n");
        assertThat(banyan("", "selftest --short --devices 0,1 --algorithm nccl").err())
                .contains("nccl: no NCCL found");
        Path file = folder.resolve("tuned.ini");
        CommandRun tune = withNccl("tune --devices 0,1 -b 1K -e 1K -o " + file);
        assertThat(tune.status()).as(tune.err()).isZero();
        assertThat(tune.out()).containsPattern("size +choice +time +algbw .*nccl");
        CommandRun without = banyan("", "tune --devices 0,1 -b 1K -e 1K -o " + file);
        assertThat(without.out()).contains("# nccl is not tried: no NCCL found");
        assertThat(banyan("", "tune --devices 0,0 -b 1K -e 1K -o " + file).out())
                .contains("# nccl is not tried: several ranks share a device");
    }

    @Test
    void contradictionsOfTheDriversAreTold() throws Exception {
        CommandRun probe = banyan("peer 0 3 none\npeer 0 5 3\n", "probe");
        assertThat(probe.err())
                .contains("GPU0-GPU3 have NVLink, but CUDA grants them no peer access")
                .contains("NVML says that GPU0-GPU5 have no peer access, but CUDA grants it");
        assertThat(banyan("peer 0 5 0\n", "probe").err()).contains("(1; 0 is the best) no better than GPU0-GPU5 (0)");
    }

    /** Runs a command here, on a machine on which nothing has happened yet. */
    private static CommandRun banyan(String commands, String arguments) {
        CudaEmulator cuda = Objects.requireNonNull(emulator);
        cuda.reset();
        cuda.tell(commands);
        return CommandRun.of(arguments);
    }

    /** Runs a command where NCCL's stand-in is. */
    private static CommandRun withNccl(String arguments) {
        System.setProperty(NCCL, NcclStandIn.build().toString());
        try {
            return banyan("", arguments);
        } finally {
            System.clearProperty(NCCL);
        }
    }
}
