package dev.banyan.study.measured;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.InputException;
import dev.banyan.schedule.type.Collective;
import dev.banyan.simulate.internal.nccl.Transport;
import dev.banyan.study.measured.sweep.MeasuredSweep;
import dev.banyan.study.measured.sweep.NcclSweepReader;
import dev.banyan.topology.Machine;
import dev.banyan.topology.format.MachineReader;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class OwnSweepTest {
    private static final String HEADING =
            "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw  "
                    + " busbw #wrong\n";

    private static String row(double busGbs) {
        return "  1073741824  268435456  float  sum  -1  4300.0  249.71  %.2f  0  4300.0  249.71  %.2f  0\n"
                .formatted(busGbs, busGbs);
    }

    private static String ranks(int count, int perHost, String model) {
        return IntStream.range(0, count)
                .mapToObj(i -> "#  Rank %2d Group  0 Pid %6d on  node%d device %2d [0000:%02x:00] %s\n"
                        .formatted(i, 100 + i, i / perHost, i % perHost, 16 + i % perHost, model))
                .collect(Collectors.joining());
    }

    private static PublishedSweep setting(String text, String machine, Optional<Transport> transport, String log) {
        List<MeasuredSweep> sweeps = NcclSweepReader.parse("my.txt", text);
        return OwnSweep.of(
                "my.txt",
                sweeps.getFirst(),
                Machine.preset(machine),
                new OwnSweep.Stated(
                        Optional.empty(),
                        Optional.empty(),
                        transport,
                        false,
                        log.isEmpty() ? Optional.empty() : Optional.of(NcclLogReader.parse("my.log", log))));
    }

    /** A damaged line of a header must not let a sweep pass that the whole header keeps out. */
    @Test
    void noChangeOfOneLineOfTheHeaderLetsARefusedSweepPass() {
        String h100 = "NVIDIA H100 80GB HBM3";
        List<String> refused = List.of(
                ranks(16, 8, h100) + HEADING + row(468.2),
                ranks(16, 16, h100) + HEADING + row(468.2),
                ranks(8, 8, "NVIDIA A100-SXM4-80GB") + HEADING + row(436.99),
                ranks(8, 8, h100).replaceAll("Rank +\\d", "Rank 0") + HEADING + row(0),
                "# nThread 1 nGpus 1 minBytes 8\n" + HEADING + row(478.6),
                ranks(8, 8, h100) + HEADING.replaceAll("  time", "cputime") + row(436.99));
        Random random = new Random(42);
        for (int i = 0; i < 4000; i++) {
            String text = refused.get(i % refused.size());
            List<String> lines = text.lines().toList();
            int changed = random.nextInt(lines.size() - 1);
            StringBuilder damaged = new StringBuilder(lines.get(changed));
            boolean isDeleted = random.nextInt(4) == 0;
            damaged.setCharAt(random.nextInt(damaged.length()), (char) (32 + random.nextInt(95)));
            String result = IntStream.range(0, lines.size())
                    .filter(line -> !isDeleted || line != changed)
                    .mapToObj(line -> line == changed ? damaged.toString() : lines.get(line))
                    .collect(Collectors.joining("\n"));
            assertThatThrownBy(() -> setting(result, "dgx-h100", Optional.empty(), ""))
                    .as(result)
                    .isInstanceOf(InputException.class);
        }
    }

    @Test
    void aPublishedSweepOnItsOwnMachineIsSeenByTheConstants() {
        MeasuredSweep sweep = NcclSweepReader.parse(
                        "my.txt", ranks(8, 8, "Tesla V100-SXM2-16GB") + HEADING + row(436.99))
                .getFirst();
        Machine machine = Machine.preset("p3.16xlarge");
        String published = "hybridcube_8xV100-SXM2-16GB_allreduce.csv";
        assertThat(OwnSweep.of(published, sweep, machine, OwnSweep.Stated.NOTHING)
                        .seen())
                .isPresent();
        assertThat(OwnSweep.of("my.txt", sweep, machine, OwnSweep.Stated.NOTHING)
                        .seen())
                .isEmpty();
    }

    /** Links of a plain matrix have the usual speed, which is not that of every model. */
    @Test
    void theModelOfTheHeaderIsNamedWhereTheDescriptionHasNone() {
        String matrix = "GPU0 GPU1 CPU Affinity\nGPU0 X NV18 0-15\nGPU1 NV18 X 0-15\n";
        Machine bare = new MachineReader().parse("two.txt", matrix);
        Machine named = new MachineReader()
                .parse(
                        "two.txt",
                        "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-0)\n" + "GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-1)\n"
                                + matrix);
        MeasuredSweep sweep = NcclSweepReader.parse(
                        "my.txt", ranks(2, 2, "NVIDIA H100 80GB HBM3") + HEADING + row(249.71))
                .getFirst();
        assertThat(OwnSweep.of("my.txt", sweep, bare, OwnSweep.Stated.NOTHING).remark())
                .contains("--gpu \"NVIDIA H100 80GB HBM3\", which the header names");
        assertThat(OwnSweep.of("my.txt", sweep, named, OwnSweep.Stated.NOTHING).remark())
                .doesNotContain("--gpu");
    }

    @Test
    void theLogSaysWhatJoinsTheDevices() {
        String text = HEADING + row(436.99);
        String log = "h:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via SHM/direct/direct\n";
        assertThat(setting(text, "pcie-8", Optional.empty(), log).transport()).isEqualTo(Transport.HOST);
        assertThat(setting(text, "pcie-8", Optional.empty(), log.replace("SHM/direct/direct", "P2P/IPC"))
                        .transport())
                .isEqualTo(Transport.PEER);
        assertThatThrownBy(() -> setting(text, "pcie-8", Optional.of(Transport.PEER), log))
                .hasMessageContaining("--transport is peer, but by the log data go through the host (SHM or NET)");
        assertThatThrownBy(() -> setting(
                        text, "pcie-8", Optional.empty(), "h:1:2 [0] NCCL INFO comm 0x7f rank 0 nRanks 4\n" + log))
                .hasMessageContaining("the sweep has 8 ranks and the log my.log has 4");
    }

    /** NVIDIA's driver forbids peer access between these; a log or the user says otherwise. */
    @Test
    void someModelsHaveNoPeerAccess() {
        String text = ranks(8, 8, "NVIDIA GeForce RTX 4090") + HEADING + row(436.99);
        PublishedSweep assumed = setting(text, "pcie-8", Optional.empty(), "");
        assertThat(assumed.transport()).isEqualTo(Transport.HOST);
        assertThat(assumed.remark()).contains("Assumed: no peer access");
        assertThat(setting(text, "pcie-8", Optional.of(Transport.PEER), "").transport())
                .isEqualTo(Transport.PEER);
        assertThat(setting(text.replace("4090", "3090"), "pcie-8", Optional.empty(), "")
                        .transport())
                .isEqualTo(Transport.PEER);
    }

    @Test
    void commandLinesNameTheCollectiveThatColumnsLeaveOpen() {
        String row = "  1073741824  33554432  float  none  -1  4300.0  249.71  218.50  0  4300.0  249.71  218.50  0\n";
        assertThat(setting(HEADING + row, "dgx-h100", Optional.empty(), "").collective())
                .isEqualTo(Collective.ALL_GATHER);
        assertThatThrownBy(() -> setting(
                        "$ ./build/alltoall_perf -b 1G -e 1G -g 8\n" + HEADING + row, "dgx-h100", Optional.empty(), ""))
                .hasMessageContaining("alltoall is no collective of Banyan");
        assertThat(setting(
                                "$ ./build/all_gather_perf -g 8\nsize_bytes,oop_time_us\n8,20\n",
                                "dgx-h100",
                                Optional.empty(),
                                "")
                        .collective())
                .isEqualTo(Collective.ALL_GATHER);
    }
}
