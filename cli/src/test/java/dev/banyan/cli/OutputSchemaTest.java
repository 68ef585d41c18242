package dev.banyan.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.PrintWriter;
import java.io.Writer;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

/** Every command's JSON is one object that begins with what its figures hold for. */
@Isolated("It changes what all tests of the JVM see.")
class OutputSchemaTest {
    @TempDir
    private Path folder;

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            nullValues = "-",
            value = {
                "topo -m dgx-1v|topo|dgx-1v|-|-|-",
                "trees -m p3.8xlarge|trees|p3.8xlarge|-|-|-",
                "trees -m p3.8xlarge --all-subsets=3|trees|p3.8xlarge|-|-|-",
                "compare -m p3.8xlarge|compare|p3.8xlarge|-|-|-",
                "bound -m dgx-h100|bound|dgx-h100|-|-|-",
                "bench -m p3.8xlarge -b 1K -e 1K -n 1 -w 0|bench|p3.8xlarge|host|loops|-",
                "predict -m p3.8xlarge -b 1K -e 1K|predict|p3.8xlarge|sim|kernel|v100-nvlink",
                "predict -m p3.8xlarge --workload lenet-5|predict|p3.8xlarge|sim|kernel|v100-nvlink",
                "bench -m p3.8xlarge --devices 0,1 --workload lenet-5 -n 1|bench|p3.8xlarge|host|loops|-",
                "bench -m p3.8xlarge --devices 0,1 --workload lenet-5 --compute-ms 1 -n 1|bench|p3.8xlarge|host|loops"
                        + "|-",
                "tune --predict -m p3.8xlarge -b 1K -e 1K -o FOLDER/t.ini|tune|p3.8xlarge|sim|kernel|v100-nvlink",
                "selftest --backend host --devices 0,1 --short -a star|selftest|p3.16xlarge|host|loops|-",
                "settings|settings|-|-|-|-",
                "page -m p3.8xlarge --devices 0,1 -o FOLDER/p.html|page|p3.8xlarge|-|-|v100-nvlink",
                "study scaling -m p3.8xlarge --machines 1,2 --workload lenet-5 --images-per-second 1000 --output"
                        + " FOLDER/s.md|study scaling|p3.8xlarge|-|-|v100-nvlink",
                "trace run --workload lenet-5 --devices 0,1 --iterations 1 --output FOLDER/traces"
                        + "|trace run|p3.16xlarge|host|loops|-"
            })
    void beginsWithWhatItsFiguresHoldFor(
            String command, String name, String machine, String backend, String executor, String profile)
            throws Exception {
        CommandRun run = CommandRun.of(command.replace("FOLDER", folder.toString()) + " --format json");
        assertThat(run.status()).as(run.err()).isZero();
        JsonNode answer = run.json();
        assertThat(answer.fieldNames())
                .toIterable()
                .startsWith("command", "version", "machine", "backend", "executor", "profile", "buffers", "settings");
        assertThat(answer.get("command").asText()).isEqualTo(name);
        assertThat(answer.at("/machine/name").asText(null)).isEqualTo(canonical(machine));
        assertThat(answer.get("backend").textValue()).isEqualTo(backend);
        assertThat(answer.get("executor").textValue()).isEqualTo(executor);
        assertThat(answer.get("profile").textValue()).isEqualTo(profile);
        assertThat(answer.get("buffers").textValue())
                .isEqualTo(!name.equals("predict") ? null : command.contains("--workload") ? "any" : "allocated");
        assertThat(answer.get("rows")).isNotEmpty();
    }

    private static String canonical(String machine) {
        return "dgx-1v".equals(machine) ? "p3.16xlarge" : machine;
    }

    @Test
    void settingsThatAreSetAreTold() throws Exception {
        System.setProperty("BANYAN_SEED", "7");
        try {
            JsonNode settings =
                    CommandRun.of("trees -m p3.8xlarge --format json").json().get("settings");
            assertThat(settings.get("BANYAN_SEED").asText()).isEqualTo("7");
            assertThat(settings.has("BANYAN_THREADS")).isFalse();
        } finally {
            System.clearProperty("BANYAN_SEED");
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "topo -m p3.8xlarge|name,weights,gbs,classes,connections",
                "trees -m p3.8xlarge -a ring|root,share,levels,edges,weight,exactShare,upEdges",
                "compare -m p3.8xlarge --devices 0,1|name,rateGBs,ratio,predictedGBs,depth,trees,generationMs,remark",
                "bound -m dgx-h100|collective,counted,algbwGBs,busbwGBs,bound,certificate.kind",
                "predict -m p3.8xlarge -b 1K -e 4K -a star,nccl|algorithm,collective,bytes,count,type,op,timeUs",
                "settings|name,value,source,defaultValue,allowed,meaning"
            })
    void csvHasTheRowsAlone(String command, String columns) throws Exception {
        CommandRun run = CommandRun.of(command + " --format csv");
        assertThat(run.status()).as(run.err()).isZero();
        List<List<String>> lines = run.out()
                .lines()
                .map(line -> List.of(line.split(",(?=([^\"]*\"[^\"]*\")*[^\"]*$)", -1)))
                .toList();
        assertThat(lines.getFirst()).startsWith(columns.split(","));
        assertThat(lines).allSatisfy(line -> assertThat(line).hasSameSizeAs(lines.getFirst()));
        JsonNode rows = CommandRun.of(command + " --format json").rows();
        assertThat(lines).hasSize(rows.size() + 1);
        String first = lines.getFirst().getFirst();
        assertThat(lines.stream().skip(1).map(List::getFirst))
                .containsExactlyElementsOf(() ->
                        rows.valueStream().map(row -> row.get(first).asText()).iterator());
    }

    /** The commands with --format json are those that the schema knows. */
    @Test
    void everyCommandWithJsonIsDescribed() throws Exception {
        JsonNode schema = new ObjectMapper().readTree(OutputSchema.FILE.toFile());
        Set<String> described = new HashSet<>();
        schema.at("/properties/command/enum").forEach(name -> described.add(name.asText()));
        Set<String> found = new HashSet<>();
        PrintWriter nowhere = new PrintWriter(Writer.nullWriter());
        commands(BanyanCommand.commandLine(nowhere, nowhere), "").forEach(found::add);
        assertThat(found).isEqualTo(described);
    }

    private static Stream<String> commands(CommandLine line, String name) {
        Stream<String> own = line.getCommandSpec().findOption("--format") == null ? Stream.of() : Stream.of(name);
        return Stream.concat(
                own,
                line.getSubcommands().entrySet().stream()
                        .flatMap(sub -> commands(sub.getValue(), (name + " " + sub.getKey()).strip())));
    }

    @Test
    void theSchemaRefusesWhatItDoesNotDescribe() throws Exception {
        ObjectNode answer =
                (ObjectNode) CommandRun.of("bound -m p3.8xlarge --format json").json();
        assertThat(StreamSupport.stream(answer.get("rows").spliterator(), false))
                .hasSize(5);
        ObjectNode more = answer.deepCopy().put("speed", 3);
        assertThatThrownBy(() -> OutputSchema.check(more)).isInstanceOf(AssertionError.class);
        ObjectNode less = answer.deepCopy();
        less.remove("settings");
        assertThatThrownBy(() -> OutputSchema.check(less)).isInstanceOf(AssertionError.class);
        ObjectNode wrong = answer.deepCopy();
        ((ObjectNode) wrong.get("rows").get(0)).put("algbwGBs", "fast");
        assertThatThrownBy(() -> OutputSchema.check(wrong)).isInstanceOf(AssertionError.class);
    }
}
