package dev.banyan.export.mscclpp;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;

/** The interpreter on the smallest plan of two ranks, right and with defects. */
class PlanInterpreterTest {
    private static final int RUNS = 200;

    private static String gpu(int rank) {
        return """
            {"id": RANK, "input_chunks": 1, "output_chunks": 1, "scratch_chunks": 1,
             "channels": [{"channel_type": "memory", "connected_to": [PEER]}],
             "remote_buffers": [{"rank": PEER, "type": "s", "access_channel_types": ["memory"]}],
             "threadblocks": [{"id": 0,
              "channels": [{"channel_type": "memory", "channel_ids": [0]}],
              "remote_buffer_refs": [{"access_channel_type": "memory", "remote_buffer_ids": [0]}],
              "ops": [
               {"name": "rlxsignal", "channel_type": "memory", "channel_ids": [0]},
               {"name": "rlxwait", "channel_type": "memory", "channel_ids": [0]},
               {"name": "nop"},
               {"name": "put", "channel_type": "memory", "src_buff": [{"type": "i", "index": 0, "size": 1}],
                "dst_buff": [{"buffer_id": 0, "index": 0, "size": 1}]},
               {"name": "nop"},
               {"name": "signal", "channel_type": "memory", "channel_ids": [0]},
               {"name": "wait", "channel_type": "memory", "channel_ids": [0]},
               {"name": "nop"},
               {"name": "re", "src_buff": [{"type": "i", "index": 0, "size": 1}, {"type": "s", "index": 0, "size": 1}],
                "dst_buff": [{"type": "i", "index": 0, "size": 1}]}]}]}
            """.replace("RANK", String.valueOf(rank)).replace("PEER", String.valueOf(1 - rank));
    }

    private static JsonTree plan() {
        return JsonTree.parse("""
            {"name": "two", "collective": "allreduce", "protocol": "Simple", "inplace": true, "reuse_resources": true,
             "num_threads_per_block": 512, "buffer_alignment": 16, "min_message_size": 16,
             "max_message_size": 33554432, "gpus": [FIRST, SECOND]}
            """.replace("FIRST", gpu(0)).replace("SECOND", gpu(1)));
    }

    private static void run(JsonTree plan) {
        for (int seed = 0; seed < RUNS; seed++) {
            new PlanInterpreter(plan, 64, -1, seed).run(3);
        }
    }

    private static JsonTree without(int... operations) {
        JsonTree plan = plan();
        for (JsonTree gpu : plan.list("gpus")) {
            List<Object> ops = gpu.list("threadblocks").getFirst().get("ops").array();
            for (int i = operations.length - 1; i >= 0; i--) {
                ops.remove(operations[i]);
            }
        }
        return plan;
    }

    @Test
    void aRightPlanRuns() {
        run(plan());
    }

    @Test
    void defectsAreFound() {
        assertThatThrownBy(() -> run(without(0, 1))).as("handshake").hasMessageContaining("is wrong");
        assertThatThrownBy(() -> run(without(5, 6))).as("synchronisation").hasMessageContaining("is wrong");
        assertThatThrownBy(() -> run(without(5))).as("signal").hasMessageContaining("wait for ever");
        assertThatThrownBy(() -> run(without(6, 7))).as("wait").isInstanceOf(PlanInterpreter.Defect.class);
        assertThatThrownBy(() -> run(without(4))).as("nop").hasMessageContaining("without nop");
        assertThatThrownBy(() -> run(without(7))).as("nop").hasMessageContaining("without nop");
    }
}
