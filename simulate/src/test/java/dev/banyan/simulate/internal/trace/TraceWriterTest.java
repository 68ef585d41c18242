package dev.banyan.simulate.internal.trace;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import dev.banyan.simulate.Constant;
import dev.banyan.simulate.Job;
import dev.banyan.simulate.Samples;
import dev.banyan.simulate.Simulator;
import dev.banyan.trees.network.Network;
import java.io.IOException;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TraceWriterTest {
    /** Two copies share GPU2's link, then GPU2 combines what came, after GPU1 has got the data back. */
    private static TraceWriter shared(Network network) {
        TraceWriter trace = new TraceWriter(network);
        new Simulator(network, List.of(), Samples.ideal(Constant.REDUCE_GBS, 30))
                .run(
                        List.of(Job.of(Samples.schedule(
                                3, 10_000_000, Samples.combine(2, List.of(0, 1)), Samples.copy(2, 1, 0)))),
                        trace);
        return trace;
    }

    private static Map<String, String> rows(JsonNode whole) {
        Map<String, String> rows = new HashMap<>();
        for (JsonNode event : whole.get("traceEvents")) {
            if (event.get("name").textValue().equals("thread_name")) {
                rows.put(
                        event.get("tid").asText(), event.get("args").get("name").textValue());
            }
        }
        return rows;
    }

    @Test
    void rowsAreLinksAndDevices(@TempDir Path folder) throws IOException {
        Network network = Samples.around(3, 10);
        Path file = folder.resolve("trace.json");
        shared(network).write(file);
        JsonNode whole = new JsonMapper().readTree(Files.readString(file));
        Map<String, String> rows = rows(whole);
        assertThat(rows.values())
                .containsExactlyInAnyOrder(
                        "GPU0",
                        "GPU1",
                        "GPU2",
                        "GPU0 -> switch0",
                        "GPU1 -> switch0",
                        "GPU2 -> switch0",
                        "switch0 -> GPU0",
                        "switch0 -> GPU1",
                        "switch0 -> GPU2",
                        "switch0 -> GPU2 (2)");
        Map<String, Double> starts = new HashMap<>();
        Map<String, Double> durations = new HashMap<>();
        for (JsonNode event : whole.get("traceEvents")) {
            if (event.get("ph").textValue().equals("X")) {
                String row = String.valueOf(rows.get(event.get("tid").asText()));
                assertThat(starts.put(row, event.get("ts").doubleValue())).isNull();
                durations.put(row, event.get("dur").doubleValue());
            }
        }
        assertThat(starts.keySet())
                .containsExactlyInAnyOrder(
                        "GPU2",
                        "GPU0 -> switch0",
                        "GPU1 -> switch0",
                        "switch0 -> GPU2",
                        "switch0 -> GPU2 (2)",
                        "GPU2 -> switch0",
                        "switch0 -> GPU1");
        assertThat(durations.get("switch0 -> GPU2 (2)")).isEqualTo(2000, within(1e-5));
        assertThat(starts.get("GPU2")).isEqualTo(2000, within(1e-5));
        assertThat(durations.get("GPU2")).isEqualTo(1000, within(1e-5));
        assertThat(starts.get("switch0 -> GPU1")).isEqualTo(3000, within(1e-5));
        assertThat(durations.get("switch0 -> GPU1")).isEqualTo(1000, within(1e-5));
    }

    @Test
    void theSameTwiceIsTheSameText() throws IOException {
        StringWriter first = new StringWriter();
        StringWriter second = new StringWriter();
        shared(Samples.around(3, 10)).write(first);
        shared(Samples.around(3, 10)).write(second);
        assertThat(first).hasToString(second.toString());
    }
}
