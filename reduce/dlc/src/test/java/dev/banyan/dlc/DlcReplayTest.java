package dev.banyan.dlc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import dev.banyan.dlc.internal.format.DlcHeader;
import dev.banyan.dlc.internal.format.DlcRole;
import dev.banyan.dlc.internal.read.DlcReader;
import dev.banyan.dlc.internal.replay.DlcReplay;
import dev.banyan.dlc.internal.replay.Replayed;
import dev.banyan.dlc.internal.run.DlcRun;
import dev.banyan.simulate.Samples;
import dev.banyan.simulate.Simulator;
import dev.banyan.trees.network.Network;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;

/** On links of 10 GB/s each way: 10 kB take 1 us. */
class DlcReplayTest {
    private static final Offset<Double> EXACT = within(1e-3);

    /** Two iterations; values of 10 MB, pushed after 500 us and, the second time, 700 us. */
    private static final DlcTrace WORKER = read("worker", """
        0 0 2 10000000 -15 OP:= Push_Send_Worker 0-0-s0 0 0 9 0 -1
        1 2 0 0 -15 OP:= Push_Recv_Worker 0-1-s0 1 20 9 20 0-0-s0
        2 0 2 0 2 OP:= Pull_Send_Worker 0-2-s0 2 30 9 50 0-1-s0
        3 2 0 10000000 2 OP:= Pull_Recv_Worker 0-3-s0 3 50 9 100 0-2-s0
        4 0 2 10000000 3 OP:= Push_Send_Worker 0-4-s0 4 500 9 600 (3-s0.)
        5 2 0 0 3 OP:= Push_Recv_Worker 0-5-s0 1 8000 9 8600 0-4-s0
        6 0 2 0 4 OP:= Pull_Send_Worker 0-6-s0 2 100 9 8700 0-5-s0
        7 2 0 10000000 4 OP:= Pull_Recv_Worker 0-7-s0 3 9300 9 18000 0-6-s0
        8 0 2 10000000 5 OP:= Push_Send_Worker 0-8-s0 4 700 9 18700 (7-s0.)
        9 2 0 0 5 OP:= Push_Recv_Worker 0-9-s0 1 300 9 19000 0-8-s0
        10 0 2 0 6 OP:= Pull_Send_Worker 0-10-s0 2 0 9 19000 0-9-s0
        11 2 0 10000000 6 OP:= Pull_Recv_Worker 0-11-s0 3 1000 9 20000 0-10-s0
        """);

    private static final DlcTrace SERVER = read("server", """
        0 0 2 10000000 3 OP:= Push_Recv_Server 0-2-w0 4 600 8 700 1-w0
        1 2 0 0 3 OP:= Push_Send_Server 0-3-w0 1 250 8 950 0-2-w0
        2 0 2 0 4 OP:= Pull_Recv_Server 0-4-w0 2 50 8 1000 0-3-w0
        3 2 0 10000000 4 OP:= Pull_Send_Server 0-5-w0 3 40 8 1040 0-4-w0
        """);

    private static DlcTrace read(String host, String records) {
        String text = "num_workers:= 2\nnum_servers:= 1\n" + host + "_hostname:= box\n" + records;
        try {
            return DlcReader.read("t.txt", new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8)));
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private static Replayed replay(int ranks, DlcTrace... traces) {
        Network network = Samples.allToAll(ranks, 10);
        return DlcReplay.run(new DlcRun(List.of(traces)), new Simulator(network, List.of(), Samples.IDEAL), ranks);
    }

    @Test
    void computationStaysAndMessagesTakeTheLinksTime() {
        Replayed replayed = replay(3, WORKER);
        assertThat(replayed.messages()).isEqualTo(8);
        assertThat(replayed.iterations()).isEqualTo(2);
        assertThat(replayed.serversApart()).isTrue();
        assertThat(replayed.tracedUs()).isEqualTo(20000 - 100, EXACT);
        // 500, push 1000, 100, pull 1000; 700, push 1000, pull 1000.
        assertThat(replayed.predictedUs()).isEqualTo(5300, EXACT);
        Replayed.KeyTime key = replayed.keys().getFirst();
        assertThat(key.key()).isZero();
        assertThat(key.tracedUs()).isEqualTo((17400 + 1300) / 2.0, EXACT);
        assertThat(key.predictedUs()).isEqualTo((2100 + 2000) / 2.0, EXACT);
    }

    @Test
    void serversWorkAsLongAsTheirTracesSay() {
        assertThat(replay(3, WORKER, SERVER).predictedUs()).isEqualTo(5300 + 250 + 40, EXACT);
    }

    @Test
    void acknowledgementsWaitForAllWorkersThatWereRecorded() {
        // Worker 1 has its gradient 5000 us later.
        DlcTrace other = read("worker", """
            0 1 2 10000000 3 OP:= Push_Send_Worker 0-4-s0 4 5500 9 5500 (3-s0.)
            1 2 1 0 3 OP:= Push_Recv_Worker 0-5-s0 1 10 9 5510 0-4-s0
            2 1 2 0 4 OP:= Pull_Send_Worker 0-6-s0 2 0 9 5510 0-5-s0
            3 2 1 10000000 4 OP:= Pull_Recv_Worker 0-7-s0 3 10 9 5520 0-6-s0
            """);
        Replayed replayed = replay(3, WORKER, other);
        // Worker 0: acknowledged at 6500, 100, pull 1000, 700, 2000.
        assertThat(replayed.predictedUs()).isEqualTo(6500 + 100 + 1000 + 700 + 2000, EXACT);
    }

    @Test
    void serversShareDevicesWhereThereAreTooFew() {
        Replayed replayed = replay(2, WORKER);
        assertThat(replayed.serversApart()).isFalse();
        // Server 0 is on worker 0's device: nothing crosses a link.
        assertThat(replayed.predictedUs()).isLessThan(1500);
    }

    @Test
    void whatCannotBeReplayedIsRefused() {
        DlcTrace three = new DlcTrace(DlcHeader.of(DlcRole.WORKER, "box", 3, 1), WORKER.records());
        assertThatThrownBy(() -> replay(2, three))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("the trace is of 3 workers and 1 servers, and there are 2 devices; name a machine with at"
                        + " least 3");
        assertThatThrownBy(() -> replay(3, SERVER))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("no worker's trace has an iteration");
        DlcTrace circle = read("worker", """
            0 0 2 9 3 OP:= Push_Send_Worker 0-4-s0 4 1 9 1 0-7-s0
            1 0 2 9 4 OP:= Pull_Send_Worker 0-6-s0 2 1 9 2 0-4-s0
            2 2 0 9 4 OP:= Pull_Recv_Worker 0-7-s0 3 1 9 3 0-6-s0
            """);
        assertThatThrownBy(() -> replay(3, circle))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("wait for each other in a circle");
    }
}
