package dev.banyan.dlc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.banyan.InputException;
import dev.banyan.dlc.internal.format.DlcDependency;
import dev.banyan.dlc.internal.format.DlcDependencyType;
import dev.banyan.dlc.internal.format.DlcHeader;
import dev.banyan.dlc.internal.format.DlcMessage;
import dev.banyan.dlc.internal.format.DlcOperation;
import dev.banyan.dlc.internal.format.DlcOperationId;
import dev.banyan.dlc.internal.format.DlcRecord;
import dev.banyan.dlc.internal.format.DlcRole;
import dev.banyan.dlc.internal.format.DlcSetup;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class DlcFormatTest {
    private static final String HEADER = """
        == num_workers:= 3
        num_servers:= 2
        server_hostname:= box
        Worker_ID:= 0,1,2, Server_ID:= 3,4,
        """;
    private static final String COLUMNS =
            "id\tsrc\tdst\tlength\tnum_pp\toperation\top_id\tdep_type\td_time\ttime_sec\ttime_usec\tid_dep\n";

    @Test
    void readsEveryColumn() {
        DlcTrace trace = DlcSamples.read(HEADER + COLUMNS
                + "7\t1\t4\t2033\t19\tOP:= Push_Recv_Server\t5-2-w1\t4\t75957\t1700000000\t814485\t(1-w1.)\n");
        assertThat(trace.header()).isEqualTo(DlcHeader.of(DlcRole.SERVER, "box", 3, 2));
        assertThat(trace.records())
                .containsExactly(new DlcMessage(
                        7,
                        1,
                        4,
                        2033,
                        19,
                        DlcOperation.PUSH_RECV_SERVER,
                        new DlcOperationId(5, 2, DlcRole.WORKER, 1),
                        DlcDependencyType.PUSH_ON_PULL,
                        75957,
                        1_700_000_000_814_485L,
                        List.of(DlcDependency.onAllKeys(1, DlcRole.WORKER, 1))));
        DlcMessage only = trace.messages().findFirst().orElseThrow();
        assertThat(only.worker()).isEqualTo(1);
        assertThat(only.server()).isEqualTo(4);
        assertThat(only.iteration()).isEqualTo(1);
    }

    @Test
    void setupMessagesHaveNoMoreColumns() {
        String text = HEADER + COLUMNS + "0\t0\t3\t25\t0\tOP:= SendCom_TO_Servers\t\t\t\t\t\t\n"
                + "1\t3\t0\t28\t0\tOP:= SendCom_To_Servers\n";
        assertThat(DlcSamples.read(text).records())
                .containsExactly(
                        new DlcSetup(0, 0, 3, 25, "SendCom_TO_Servers"),
                        new DlcSetup(1, 3, 0, 28, "SendCom_To_Servers"));
    }

    /** As the first public tracer writes it: its own names, two tabs, servers from 0, no peers. */
    @Test
    void readsEarlyTracers() {
        DlcTrace trace = DlcSamples.read("""
            =======
            ==\t\t num_workers: = 2     num_servers: = 1     worker_hostname:= gpu1            \s
            ==\t\t Worker_ID: = 0,1,\tServer_ID: =0,
            ==     Dep_PP:  odd: push_operation   even: pull_operation  -15: Initialize Server
            ID\tsrc\tdst\tlength\t\tDep_PP\t\tOperation\t\tOP_ID\t\tdep_Type\t\tdTime
            0\t0\t2\t73\t\t21\t\tOP:= Push_Send_Worker\t\t6-4\t\t4\t\t70213\t\t1516622729\t\t812819\t\t3
            1\t2\t0\t19\t\t21\t\tOP:= Push_Recv_Worker\t\t6-5\t\t1\t\t9\t\t1516622729\t\t812828\t\t6-4

            """.replace("\n", "\r\n"));
        assertThat(trace.header()).isEqualTo(DlcHeader.of(DlcRole.WORKER, "gpu1", 2, 1));
        assertThat(trace.messages().map(DlcMessage::operationId))
                .containsExactly(
                        new DlcOperationId(6, 4, DlcRole.SERVER, 0), new DlcOperationId(6, 5, DlcRole.SERVER, 0));
        assertThat(trace.messages().flatMap(message -> message.dependencies().stream()))
                .containsExactly(
                        DlcDependency.onAllKeys(3, DlcRole.SERVER, 0),
                        new DlcDependency(OptionalInt.of(6), 4, DlcRole.SERVER, 0));
    }

    @Test
    void acknowledgementsOfServersWaitForAllWorkers() {
        DlcTrace trace = DlcSamples.read(
                HEADER + COLUMNS + "0 3 0 19 1 OP:=push_send_server 0-3-w0 1 5 0 5 (0-2-w0, 0-2-w1, 0-2-w2, )\n");
        assertThat(trace.messages().findFirst().orElseThrow().dependencies()).hasToString("[0-2-w0, 0-2-w1, 0-2-w2]");
        assertThat(DlcSamples.write(trace)).endsWith("\t(0-2-w0,0-2-w1,0-2-w2,)\n");
    }

    @Test
    void aCutPieceSaysWhoTookPart() {
        DlcTrace trace = DlcSamples.read("5 1 2 9 3 OP:= Push_Send_Worker 0-4-s0 4 1 0 1 (3-s0.)\n");
        assertThat(trace.header()).isEqualTo(new DlcHeader(DlcRole.WORKER, "unknown", List.of(1), List.of(2)));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "x 0 3 9 1 OP:= Push_Send_Worker 0-4-s0 4 1 0 1 -1 | 1 | id is 'x'",
                "0 9 3 9 1 OP:= Push_Send_Worker 0-4-s0 4 1 0 1 -1 | 3 | src is 9",
                "0 0 3 -9 1 OP:= Push_Send_Worker 0-4-s0 4 1 0 1 -1 | 7 | length is '-9'",
                "0 0 3 9 1.5 OP:= Push_Send_Worker 0-4-s0 4 1 0 1 -1 | 9 | num_pp is '1.5'",
                "0 0 3 9 1 OP:= Push_Sent_Worker 0-4-s0 4 1 0 1 -1 | 16 | '''Push_Sent_Worker'' is no operation'",
                "0 0 3 9 1 OP:= Push_Send_Worker | 32 | the line ends before its op_id",
                "0 0 3 9 1 OP:= Push_Send_Worker 0+4 4 1 0 1 -1 | 33 | op_id is '0+4'",
                "0 0 3 9 1 OP:= Push_Send_Worker 0--3-s0 4 1 0 1 -1 | 33 | op_id is '0--3-s0'",
                "0 0 3 9 1 OP:= Push_Send_Worker 0-4-s1 4 1 0 1 -1 | 33 | op_id 0-4-s1 says another peer",
                "0 0 3 9 1 OP:= Push_Send_Worker 0-4-w0 4 1 0 1 -1 | 33 | op_id 0-4-w0 says another peer",
                "0 3 0 9 1 OP:= Push_Send_Worker 0-4-s0 4 1 0 1 -1 | 33 | Push_Send_Worker from node 3 to node 0",
                "0 0 3 9 1 OP:= Push_Send_Worker 0-4-s0 5 1 0 1 -1 | 40 | dep_type is '5'",
                "0 0 3 9 1 OP:= Push_Send_Worker 0-4-s0 4 - 0 1 -1 | 42 | d_time is '-'",
                "0 0 3 9 1 OP:= Push_Send_Worker 0-4-s0 4 1 0 1000000 -1 | 46 | time_usec is '1000000'",
                "0 0 3 9 1 OP:= Push_Send_Worker 0-4-s0 4 1 0 1 | 47 | the line ends before its id_dep",
                "0 0 3 9 1 OP:= Push_Send_Worker 0-4-s0 4 1 0 1 (3-s0. | 48 | id_dep is '(3-s0.'",
                "0 0 3 9 1 OP:= Push_Send_Worker 0-4-s0 4 1 0 1 () | 48 | id_dep is '()'",
                "0 0 3 9 1 OP:= Push_Send_Worker 0-4-s0 4 1 0 1 all | 48 | id_dep has 'all'",
                "0 0 3 9 0 OP:= SendCom_TO_Servers 0-4-s0 | 35 | '''0-4-s0'' follows the setup message'"
            })
    void nonsenseIsRefusedWithItsPlace(String record, int column, String message) {
        InputException error = catchThrowableOfType(
                InputException.class, () -> DlcSamples.read(HEADER + COLUMNS + "\n" + record + "\n"));
        assertThat(error).hasMessageStartingWith("t.txt:7:" + column + ": ").hasMessageContaining(message);
    }

    @Test
    void headersMustMakeSense() {
        assertRefused("== num_workers:= many\n", "t.txt:1:18: num_workers is 'many'");
        assertRefused("num_workers:= 2\nWorker_ID:= 0,1,2,\n", "t.txt:2:13: Worker_ID lists 3 nodes, but 2");
        assertRefused("", "t.txt: has no records of a DLC trace");
        assertRefused("{\"a\": 1}\n", "t.txt: has no records of a DLC trace");
        assertRefused(HEADER + COLUMNS + "0 0 3 25 0 OP:= A\n" + HEADER + COLUMNS, "t.txt:7:1: id is '=='");
        assertRefused(HEADER + COLUMNS + "0 0 3 25 0 OP:= A\n" + COLUMNS, "t.txt:7: a second trace begins here");
    }

    private static void assertRefused(String text, String message) {
        assertThat(catchThrowableOfType(InputException.class, () -> DlcSamples.read(text)))
                .hasMessageStartingWith(message);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3})
    void whatIsWrittenIsReadAgain(int seed) {
        Random random = new Random(seed);
        for (int round = 0; round < 100; round++) {
            DlcTrace trace = random(random);
            String text = DlcSamples.write(trace);
            DlcTrace again = DlcSamples.read(text);
            assertThat(again).isEqualTo(trace);
            assertThat(DlcSamples.write(again)).isEqualTo(text);
        }
    }

    private static DlcTrace random(Random random) {
        int workers = 1 + random.nextInt(4);
        int servers = 1 + random.nextInt(3);
        List<DlcRecord> records = new ArrayList<>();
        for (int id = 0; id < 1 + random.nextInt(20); id++) {
            int worker = random.nextInt(workers);
            int server = workers + random.nextInt(servers);
            if (random.nextInt(5) == 0) {
                records.add(new DlcSetup(id, worker, workers + servers, random.nextInt(100), "SendCom_To_Servers"));
                continue;
            }
            DlcOperation operation = List.of(DlcOperation.values()).get(random.nextInt(8));
            DlcRole peerRole = operation.role().other();
            DlcOperationId name = new DlcOperationId(
                    random.nextInt(9),
                    random.nextInt(20) - 2,
                    peerRole,
                    peerRole == DlcRole.SERVER ? server - workers : worker);
            List<DlcDependency> after = Stream.generate(() -> random.nextBoolean()
                            ? DlcDependency.on(name)
                            : DlcDependency.onAllKeys(random.nextInt(5), peerRole, random.nextInt(3)))
                    .limit(random.nextInt(4))
                    .toList();
            records.add(new DlcMessage(
                    id,
                    operation.toServer() ? worker : server,
                    operation.toServer() ? server : worker,
                    random.nextLong(1L << 40),
                    random.nextBoolean() ? DlcMessage.INITIALISES : random.nextInt(50),
                    operation,
                    name,
                    DlcDependencyType.of(random.nextInt(5)),
                    random.nextLong(-100, 1 << 20),
                    random.nextLong(1L << 50),
                    after));
        }
        DlcRole role = random.nextBoolean() ? DlcRole.WORKER : DlcRole.SERVER;
        return new DlcTrace(DlcHeader.of(role, "h" + random.nextInt(9), workers, servers), records);
    }

    /** Whatever is broken, the answer is a trace or one sentence with a place. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3})
    void brokenFilesAreReadOrRefused(int seed) {
        Random random = new Random(seed);
        String text = DlcSamples.write(random(random));
        int refused = 0;
        for (int round = 0; round < 500; round++) {
            StringBuilder broken = new StringBuilder(text);
            for (int i = 0; i <= random.nextInt(3); i++) {
                int at = random.nextInt(broken.length());
                switch (random.nextInt(3)) {
                    case 0 -> broken.deleteCharAt(at);
                    case 1 -> broken.insert(at, broken.charAt(random.nextInt(broken.length())));
                    default -> broken.setLength(at + 1);
                }
            }
            try {
                assertThat(DlcSamples.read(broken.toString()).records()).isNotNull();
            } catch (InputException e) {
                refused++;
                assertThat(e).hasMessageStartingWith("t.txt:");
            }
        }
        assertThat(refused).isPositive();
    }

    @Test
    void thePublishedTraceIsReadAndWrittenAgain() throws Exception {
        Path file = Path.of(System.getProperty("banyan.shared", ""), "figures", "dlc_lenet5_fragment.txt");
        assumeTrue(Files.exists(file), () -> "no published trace at " + file + " (system property banyan.shared)");
        String text = Files.readString(file);
        DlcTrace trace = DlcSamples.read(text);
        assertThat(trace.records()).hasSize(68);
        assertThat(trace.messages()).hasSize(64);
        assertThat(trace.header()).isEqualTo(DlcHeader.of(DlcRole.WORKER, "GPU-1-12", 2, 1));
        assertThat(DlcSamples.write(trace)).isEqualTo(text);
    }
}
