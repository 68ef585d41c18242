package dev.banyan.schedule.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.config.Config;
import dev.banyan.schedule.internal.algorithm.CollectiveRequest;
import dev.banyan.schedule.type.Collective;
import dev.banyan.topology.Machine;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TuningTest {
    @TempDir
    private Path directory;

    private Config load(Map<String, String> properties) {
        return Config.builder().load(properties, Map.of(), directory);
    }

    @Test
    void readsAlgorithmsBySize() {
        SizeRules rules = load(Map.of("BANYAN_ALGORITHM", "star:4K, single-tree@64K:1M, packing/8@1000:1G"))
                .get(Planner.ALGORITHM);
        assertThat(rules).hasToString("star:4K,single-tree@64K:1M,packing/8@1000:1G,auto");
        assertThat(rules.of(4096)).isEqualTo(AlgorithmConfig.of(AlgorithmChoice.STAR));
        assertThat(rules.of(4097))
                .isEqualTo(AlgorithmConfig.of(AlgorithmChoice.SINGLE_TREE).withChunkBytes(65536));
        assertThat(rules.of(1 << 30))
                .isEqualTo(AlgorithmConfig.of(AlgorithmChoice.PACKING)
                        .withMaxTrees(8)
                        .withChunkBytes(1000));
        assertThat(rules.of((1 << 30) + 1L)).isEqualTo(AlgorithmConfig.of(AlgorithmChoice.AUTO));
        assertThat(SizeRules.parse(rules.toString())).isEqualTo(rules);
        assertThat(Config.builder().set(Planner.ALGORITHM, rules).build().get(Planner.ALGORITHM))
                .isEqualTo(rules);
    }

    private static final Platform HOST = new Platform("host", Execution.LOOPS, "2 x amd64", "Java 25");
    private static final Platform GPUS = new Platform("cuda", Execution.PROGRAMS, "4 x Tesla V100", "CUDA 12.4");

    private static Map<Collective, SizeRules> rules(Collective collective, String text) {
        return Map.of(collective, SizeRules.parse(text));
    }

    @Test
    void aFileHoldsSectionsOfSeveralPlatforms() throws IOException {
        Tuning host = new Tuning(HOST, "0123abcd", "a b", rules(Collective.ALL_REDUCE, "star:4K,packing@64K"));
        Tuning gpus = new Tuning(GPUS, "0123abcd", "a b", rules(Collective.BROADCAST, "nccl"));
        TuningFile file = TuningFile.EMPTY.with(host).with(gpus);
        assertThat(written(file)).isEqualTo(file);
        TuningFile more = file.with(new Tuning(HOST, "0123abcd", "c", rules(Collective.BROADCAST, "ring")));
        assertThat(more.sections()).hasSize(2);
        assertThat(more.sections().getFirst().rules()).containsOnlyKeys(Collective.ALL_REDUCE, Collective.BROADCAST);
        assertThat(more.sections().getFirst().machine()).isEqualTo("c");
        assertThat(more.sections().getLast()).isEqualTo(gpus);
        assertThat(more.with(new Tuning(HOST, "99999999", "a b", Map.of())).sections())
                .hasSize(3);
        assertThat(TuningFile.of(load(Map.of()))).contains(file);
        assertThat(TuningFile.of(Config.defaults())).isEmpty();
    }

    private TuningFile written(TuningFile file) throws IOException {
        return TuningFile.read(Files.write(directory.resolve("banyan-tuned.ini"), file.lines()));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "BANYAN_TUNED_MACHINE=a|line 1: a section begins with [tuning]",
                "[tuning]/backend = cuda|line 1: the section lacks machine",
                "[tuning]/# x/speed = 3|line 3: 'speed' is neither a collective nor one of",
                "[tuning]/ring|line 2: 'ring' is not of the form name = value",
                "[tuning]/all_reduce = rink|line 2: no algorithm is called 'rink'",
                "[tuning]/machine=a/backend=b/executor=c/device=/driver=/links=|line 1: no executor is called 'c'"
            })
    void wrongFilesAreRefusedWithTheLine(String text, String message) throws IOException {
        Path file = Files.writeString(directory.resolve("t.ini"), text.replace("/", "\n"));
        assertThatThrownBy(() -> TuningFile.of(load(Map.of("BANYAN_TUNING", file.toString()))))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith(file + ", ")
                .hasMessageContaining(message)
                .hasMessageEndingWith("; delete the file and run banyan tune again");
    }

    @Test
    void aFileThatIsNotThereIsNamed() {
        assertThatThrownBy(() -> TuningFile.of(load(Map.of("BANYAN_TUNING", "no.ini"))))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll("no.ini", "BANYAN_TUNING");
    }

    /** The names of a machine, its devices and its file are for people. */
    @Test
    void namesDoNotCount() {
        Machine machine = Machine.preset("p3.8xlarge");
        Machine renamed =
                new Machine("x", machine.devices(), machine.hubs(), machine.links(), machine.nics(), List.of());
        assertThat(renamed.name()).isNotEqualTo(machine.name());
        TuningFile file = TuningFile.EMPTY.with(Tuning.of(GPUS, machine, rules(Collective.REDUCE, "star")));
        assertThat(file.find(GPUS, renamed)).isPresent();
        assertThat(file.find(HOST, machine)).isEmpty();
        assertThat(file.find(GPUS, machine.subset(1, 0, 2, 3))).isEmpty();
    }

    @Test
    void theNearestSectionSaysWhyNoneIsUsed() {
        Machine machine = Machine.preset("p3.8xlarge");
        TuningFile file = TuningFile.EMPTY
                .with(Tuning.of(HOST, machine, rules(Collective.REDUCE, "star")))
                .with(Tuning.of(GPUS, machine, rules(Collective.REDUCE, "star")));
        Platform newer = new Platform("cuda", Execution.PROGRAMS, "4 x Tesla V100", "CUDA 13.0");
        assertThat(file.objection(newer, machine))
                .isEqualTo(" is not used here: its section of p3.8xlarge is for driver CUDA 12.4, not CUDA 13.0; run"
                        + " banyan tune --backend cuda to add one");
        assertThat(file.objection(Platform.simulated(Execution.PROGRAMS), machine))
                .endsWith("; run banyan tune --predict to add one");
        Machine other = Machine.preset("p2.16xlarge");
        assertThat(file.objection(newer, other)).contains("is for links ").doesNotContain("driver");
    }

    /** A planner of named algorithms reads no tuning file. */
    @Test
    void namedAlgorithmsNeedNoSection() {
        Config config =
                Config.builder().set(Config.TUNING, Path.of("no/such/file")).build();
        CollectiveRequest request = new CollectiveRequest(Collective.REDUCE, 0, 8, 4, true, Long.MAX_VALUE);
        assertThat(Planner.ofNamed(Machine.preset("p3.8xlarge"), config)
                        .plan(AlgorithmConfig.of(AlgorithmChoice.STAR), request)
                        .schedule()
                        .ranks())
                .isEqualTo(4);
    }
}
