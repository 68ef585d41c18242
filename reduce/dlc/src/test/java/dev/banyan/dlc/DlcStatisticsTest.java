package dev.banyan.dlc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.banyan.dlc.internal.format.DlcRole;
import dev.banyan.dlc.internal.run.DlcRun;
import dev.banyan.dlc.internal.statistics.DlcStatistics;
import dev.banyan.dlc.internal.statistics.Overhead;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;

class DlcStatisticsTest {
    /** Two keys: initialised at 0, pulled until 100, then two iterations of 1000 us and one that is cut off. */
    private static final DlcTrace WORKER_0 = DlcSamples.trace(DlcRole.WORKER, 2, 1, """
        0 0 2 25 0 OP:= SendCom_TO_Servers
        1 0 2 400 -15 OP:= Push_Send_Worker 0-0-s0 0 0 1000 0 -1
        2 2 0 10 -15 OP:= Push_Recv_Worker 0-1-s0 1 20 1000 20 0-0-s0
        3 0 2 20 1 OP:= Pull_Send_Worker 0-2-s0 2 30 1000 50 0-1-s0
        4 2 0 400 1 OP:= Pull_Recv_Worker 0-3-s0 3 30 1000 80 0-2-s0
        5 0 2 800 -15 OP:= Push_Send_Worker 1-0-s0 0 0 1000 10 -1
        6 2 0 10 -15 OP:= Push_Recv_Worker 1-1-s0 1 20 1000 30 1-0-s0
        7 0 2 20 2 OP:= Pull_Send_Worker 1-2-s0 2 30 1000 60 1-1-s0
        8 2 0 800 2 OP:= Pull_Recv_Worker 1-3-s0 3 40 1000 100 1-2-s0
        9 0 2 800 5 OP:= Push_Send_Worker 1-4-s0 4 500 1000 600 (3-s0.)
        10 0 2 400 3 OP:= Push_Send_Worker 0-4-s0 4 620 1000 700 (3-s0.)
        11 2 0 10 5 OP:= Push_Recv_Worker 1-5-s0 1 200 1000 800 1-4-s0
        12 0 2 20 6 OP:= Pull_Send_Worker 1-6-s0 2 5 1000 805 1-5-s0
        13 2 0 10 3 OP:= Push_Recv_Worker 0-5-s0 1 150 1000 850 0-4-s0
        14 0 2 20 4 OP:= Pull_Send_Worker 0-6-s0 2 15 1000 865 0-5-s0
        15 2 0 800 6 OP:= Pull_Recv_Worker 1-7-s0 3 195 1000 1000 1-6-s0
        16 2 0 400 4 OP:= Pull_Recv_Worker 0-7-s0 3 235 1000 1100 0-6-s0
        17 0 2 800 9 OP:= Push_Send_Worker 1-8-s0 4 300 1000 1300 (7-s0.)
        18 2 0 10 9 OP:= Push_Recv_Worker 1-9-s0 1 50 1000 1350 1-8-s0
        19 0 2 20 10 OP:= Pull_Send_Worker 1-10-s0 2 10 1000 1360 1-9-s0
        20 2 0 800 10 OP:= Pull_Recv_Worker 1-11-s0 3 40 1000 1400 1-10-s0
        21 0 2 400 7 OP:= Push_Send_Worker 0-8-s0 4 600 1000 1700 (7-s0.)
        22 2 0 10 7 OP:= Push_Recv_Worker 0-9-s0 1 100 1000 1800 0-8-s0
        23 0 2 20 8 OP:= Pull_Send_Worker 0-10-s0 2 10 1000 1810 0-9-s0
        24 2 0 400 8 OP:= Pull_Recv_Worker 0-11-s0 3 290 1000 2100 0-10-s0
        """);

    /** Its first iteration, and that of a worker that initialised nothing, as the server saw them. */
    private static final DlcTrace SERVER = DlcSamples.trace(DlcRole.SERVER, 2, 1, """
        0 0 2 400 -15 OP:= Push_Recv_Server 0--2-w0 0 0 1000 5 -1
        1 2 0 10 -15 OP:= Push_Send_Server 0--1-w0 1 5 1000 10 0--2-w0
        2 0 2 20 1 OP:= Pull_Recv_Server 0-0-w0 2 50 1000 60 0--1-w0
        3 2 0 400 1 OP:= Pull_Send_Server 0-1-w0 3 5 1000 65 0-0-w0
        4 1 2 20 1 OP:= Pull_Recv_Server 0-0-w1 2 60 1000 70 0--1-w0
        5 2 1 400 1 OP:= Pull_Send_Server 0-1-w1 3 5 1000 75 0-0-w1
        6 0 2 400 3 OP:= Push_Recv_Server 0-2-w0 4 665 1000 730 1-w0
        7 1 2 400 3 OP:= Push_Recv_Server 0-2-w1 4 695 1000 770 1-w1
        8 2 1 10 3 OP:= Push_Send_Server 0-3-w1 1 25 1000 795 (0-2-w0, 0-2-w1, )
        9 2 0 10 3 OP:= Push_Send_Server 0-3-w0 1 70 1000 800 (0-2-w0, 0-2-w1, )
        10 0 2 20 4 OP:= Pull_Recv_Server 0-4-w0 2 90 1000 890 0-3-w0
        11 2 0 400 4 OP:= Pull_Send_Server 0-5-w0 3 17 1000 907 0-4-w0
        """);

    @Test
    void aWorkersTraceTellsTrafficAndItsOverheads() {
        DlcStatistics statistics = DlcStatistics.of(new DlcRun(List.of(WORKER_0)));
        assertThat(statistics.records()).isEqualTo(25);
        assertThat(statistics.setupRecords()).isEqualTo(1);
        assertThat(statistics.workers()).isEqualTo(1);
        assertThat(statistics.servers()).isEqualTo(1);
        assertThat(statistics.keys()).containsExactly(0, 1);
        assertThat(statistics.iterations()).isEqualTo(2);
        assertThat(statistics.pushedBytesPerIteration()).isEqualTo(1200);
        assertThat(statistics.pulledBytesPerIteration()).isEqualTo(1200);
        assertThat(statistics.bytesPerIteration()).isEqualTo(2460);
        assertThat(statistics.lengths(0)).containsExactly(400L, 400L, 800L, 800L);
        assertThat(statistics.traffic())
                .containsExactly(
                        new DlcStatistics.KeyTraffic(0, 400, 10, 20, 400),
                        new DlcStatistics.KeyTraffic(1, 800, 10, 20, 800));
        assertThat(statistics.overhead(Overhead.COMPUTATION)).contains(new DlcStatistics.Spread(4, 505, 300, 620));
        assertThat(statistics.overheadByKey(Overhead.COMPUTATION))
                .containsEntry(0, new DlcStatistics.Spread(2, 610, 600, 620))
                .containsEntry(1, new DlcStatistics.Spread(2, 400, 300, 500));
        assertThat(statistics.overhead(Overhead.PUSH)).contains(new DlcStatistics.Spread(4, 125, 50, 200));
        assertThat(statistics.overhead(Overhead.WAIT)).contains(new DlcStatistics.Spread(4, 10, 5, 15));
        assertThat(statistics.overhead(Overhead.PULL)).contains(new DlcStatistics.Spread(4, 190, 40, 290));
        assertThat(statistics.overhead(Overhead.UPDATE)).isEmpty();
        assertThat(statistics.overheadByKey(Overhead.SEARCH)).isEmpty();
    }

    @Test
    void anIterationHasThreePhases() {
        // 100..600 computes, ..700 both, ..1100 communicates; 1100..1300 computes, 1300..1400 key 1 is under
        // way, ..1700 computes again, ..2100 communicates.
        DlcStatistics.Phases phases =
                DlcStatistics.of(new DlcRun(List.of(WORKER_0))).phases().orElseThrow();
        assertThat(phases).isEqualTo(new DlcStatistics.Phases(2, (500 + 500) / 2.0, (100 + 100) / 2.0, 400));
        assertThat(phases.overlapRatio()).isEqualTo(0.2, within(1e-12));
        assertThat(phases.iterationUs()).isEqualTo(1000);
    }

    @Test
    void aServersTraceTellsItsOverheads() {
        DlcStatistics statistics = DlcStatistics.of(new DlcRun(List.of(SERVER)));
        assertThat(statistics.iterations()).isEqualTo(1);
        assertThat(statistics.workers()).isEqualTo(2);
        assertThat(statistics.pushedBytesPerIteration()).isEqualTo(800);
        assertThat(statistics.overhead(Overhead.SYNCHRONISATION)).contains(new DlcStatistics.Spread(1, 40, 40, 40));
        assertThat(statistics.overhead(Overhead.UPDATE)).contains(new DlcStatistics.Spread(1, 25, 25, 25));
        assertThat(statistics.overhead(Overhead.SEARCH)).contains(new DlcStatistics.Spread(1, 17, 17, 17));
        assertThat(statistics.overhead(Overhead.COMPUTATION)).isEmpty();
        assertThat(statistics.phases()).isEmpty();
    }

    @Test
    void whatTwoNodesRecordedCountsOnce() {
        DlcStatistics statistics = DlcStatistics.of(new DlcRun(List.of(WORKER_0, SERVER)));
        assertThat(statistics.records()).isEqualTo(37);
        assertThat(statistics.workers()).isEqualTo(2);
        // 1200 by worker 0 in each of two iterations, 400 by worker 1 in one.
        assertThat(statistics.pushedBytesPerIteration()).isEqualTo((2 * 1200 + 400) / 2.0);
        assertThat(statistics.overhead(Overhead.WAIT)).isPresent();
        assertThat(statistics.overhead(Overhead.SEARCH)).isPresent();
    }

    @Test
    void setupAloneHasNoIterations() {
        DlcStatistics statistics = DlcStatistics.of(
                new DlcRun(List.of(DlcSamples.trace(DlcRole.WORKER, 1, 1, "0 0 1 25 0 OP:= SendCom_TO_Servers\n"))));
        assertThat(statistics.iterations()).isZero();
        assertThat(statistics.pushedBytesPerIteration()).isZero();
        assertThat(statistics.phases()).isEmpty();
    }

    @Test
    void thePublishedTraceHasOneIteration() throws Exception {
        Path file = Path.of(System.getProperty("banyan.shared", ""), "figures", "dlc_lenet5_fragment.txt");
        assumeTrue(Files.exists(file), () -> "no published trace at " + file + " (system property banyan.shared)");
        DlcStatistics statistics = DlcStatistics.of(new DlcRun(List.of(DlcSamples.read(Files.readString(file)))));
        assertThat(statistics.records()).isEqualTo(68);
        assertThat(statistics.keys()).hasSize(8);
        assertThat(statistics.iterations()).isEqualTo(1);
        assertThat(statistics.pushedBytesPerIteration()).isEqualTo(1_724_584);
        assertThat(Objects.requireNonNull(statistics.phases().orElseThrow().overlapRatio()))
                .isEqualTo(6656 / 24087.0, within(1e-12));
        Path published = file.resolveSibling("dlc_messages.csv");
        assumeTrue(Files.exists(published), () -> "no published lengths at " + published);
        List<DlcStatistics.KeyTraffic> lengths = Files.readAllLines(published).stream()
                .map(line -> line.split(",", -1))
                .filter(cells -> cells[0].equals("lenet-5"))
                .map(cells -> new DlcStatistics.KeyTraffic(
                        Integer.parseInt(cells[1]),
                        Double.parseDouble(cells[2]),
                        Double.parseDouble(cells[3]),
                        Double.parseDouble(cells[4]),
                        Double.parseDouble(cells[5])))
                .toList();
        assertThat(statistics.traffic()).containsExactlyInAnyOrderElementsOf(lengths);
    }
}
