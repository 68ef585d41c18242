package dev.banyan.study.measured;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.InputException;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Lines as several versions of NCCL print them. */
class NcclLogReaderTest {
    @Test
    void readsRingsHopsAndSettingsOfARecentVersion() {
        NcclLog log = NcclLogReader.parse("log", """
            # nThread 1 nGpus 4 minBytes 8 maxBytes 134217728
            node:17:17 [0] NCCL INFO NCCL_P2P_LEVEL set by environment to LOC
            node:17:17 [0] NCCL INFO cudaDriverVersion 12040
            NCCL version 2.21.5+cuda12.4
            node:17:25 [0] NCCL INFO comm 0x7f rank 0 nRanks 4 nNodes 1 localRanks 4 localRank 0 MNNVL 0
            node:17:25 [0] NCCL INFO NVLS multicast support is not available on dev 0
            node:17:25 [0] NCCL INFO Channel 00/02 :    0   1   3   2
            node:17:25 [0] NCCL INFO Channel 01/02 :    0   2   3   1
            node:17:25 [0] NCCL INFO Trees [0] 1/-1/-1->0->-1 [1] 1/-1/-1->0->-1
            node:17:25 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/direct pointer
            node:17:26 [1] NCCL INFO Channel 00 : 1[1a000] -> 3[1b000] via SHM/direct/direct
            node:17:26 [1] NCCL INFO Channel 00/0 : 2[2] -> 0[0] [receive] via NET/Socket/0
            node:17:25 [0] NCCL INFO AllReduce: 8388608 Bytes -> Algo 1 proto 2 time 83.5
            node:17:25 [0] NCCL INFO AllReduce: 1024 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}
            node:17:25 [0] NCCL INFO Channel 00/02 :    3   2   1   0
            """);
        assertThat(log.version()).contains("2.21.5");
        assertThat(log.ranks()).isEqualTo(4);
        assertThat(log.rings().values()).containsExactly(List.of(0, 1, 3, 2), List.of(0, 2, 3, 1));
        assertThat(log.hops())
                .containsEntry(new NcclLog.Pair(0, 1), "P2P/direct pointer")
                .containsEntry(new NcclLog.Pair(1, 3), "SHM/direct/direct")
                .containsEntry(new NcclLog.Pair(2, 0), "NET/Socket/0");
        assertThat(log.settings()).containsEntry("NCCL_P2P_LEVEL", "LOC");
        assertThat(log.nvls()).contains(false);
        assertThat(log.choices()).containsEntry(8388608L, "Ring/Simple").containsEntry(1024L, "Ring/LL");
        assertThat(log.disabled()).isEmpty();
    }

    @Test
    void readsWhatOlderVersionsPrint() {
        NcclLog log = NcclLogReader.parse("log", """
            NCCL version 2.4.8+cuda10.1
            h:1:2 [0] NCCL INFO Ring 00 :    0   1
            h:1:2 [0] NCCL INFO Ring 00 : 0[0] -> 1[1] via direct shared memory
            h:1:2 [0] NCCL INFO P2P is disabled between connected GPUs 0 and 1. You can repress this message with \
            NCCL_IGNORE_DISABLED_P2P=1.
            h:1:2 [0] NCCL INFO 2 coll channels, 0 nvls channels, 2 p2p channels, 2 p2p channels per peer
            """);
        assertThat(log.ranks()).as("as many as a ring has").isEqualTo(2);
        assertThat(log.rings()).containsEntry(0, List.of(0, 1));
        assertThat(log.hops()).containsEntry(new NcclLog.Pair(0, 1), "SHM");
        assertThat(log.disabled()).containsExactly(new NcclLog.Pair(0, 1));
        assertThat(log.nvls()).as("no channel of NVLS says nothing").isEmpty();
    }

    @Test
    void damagedRingsAndHugeNumbersAreSkipped() {
        NcclLog log = NcclLogReader.parse("log", """
            NCCL version 2.21.5+cuda12.4
            h:1:2 [0] NCCL INFO Channel 00/02 :    0   1   3
            h:1:2 [0] NCCL INFO Channel 01/02 :    0   99999999999   2
            h:1:2 [0] NCCL INFO Channel 02/02 :    1   0   2
            h:1:2 [0] NCCL INFO AllReduce: 99999999999999999999 Bytes -> Algo 1 proto 2 time 83.5
            """);
        assertThat(log.rings()).containsOnly(Map.entry(2, List.of(1, 0, 2)));
        assertThat(log.choices()).isEmpty();
    }

    @Test
    void whatIsNoLogIsRefused() {
        assertThatThrownBy(() -> NcclLogReader.parse("notes.txt", "anything\n"))
                .isInstanceOf(InputException.class)
                .hasMessage("notes.txt: holds nothing that NCCL prints; run the program with NCCL_DEBUG=INFO");
    }
}
