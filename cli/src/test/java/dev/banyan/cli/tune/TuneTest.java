package dev.banyan.cli.tune;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import dev.banyan.cli.CommandRun;
import dev.banyan.config.Config;
import dev.banyan.cuda.CudaBackendProvider;
import dev.banyan.reduce.internal.Deadlines;
import dev.banyan.schedule.internal.algorithm.CollectiveRequest;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.schedule.plan.Execution;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.plan.Platform;
import dev.banyan.schedule.plan.SizeRules;
import dev.banyan.schedule.plan.Tuning;
import dev.banyan.schedule.plan.TuningFile;
import dev.banyan.schedule.type.Collective;
import dev.banyan.simulate.Profiles;
import dev.banyan.simulate.RangedCosts;
import dev.banyan.simulate.RangedCosts.TimeRange;
import dev.banyan.study.measured.SimulatedNccl;
import dev.banyan.study.text.ByteSize;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Presets;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class TuneTest {
    private static final TimeRange UNKNOWN = new TimeRange(0, Double.POSITIVE_INFINITY);

    @TempDir
    private Path folder;

    private static CollectiveRequest allReduce(long bytes) {
        return new CollectiveRequest(Collective.ALL_REDUCE, -1, bytes / 4, 4, true, Long.MAX_VALUE);
    }

    /** Returns the planner of a communicator in the folder. */
    private Planner planner(Machine machine) {
        return Planner.of(
                machine, Config.builder().load(Map.of(), Map.of(), folder), Platform.simulated(Execution.PROGRAMS));
    }

    /** The section is for what will run there, and the times are of what could be predicted. */
    @Test
    void theExecutorOfPredictionsIsNamed() throws Exception {
        Path file = folder.resolve("banyan-tuned.ini");
        CommandRun run = CommandRun.of("tune --predict --machine pcie-4 -b 1M -e 1M --output " + file);
        assertThat(run.out())
                .startsWith("# predicted with profile pcie, executor graph: pcie-4")
                .contains("# one process that holds all GPUs runs these graphs; several processes");
        assertThat(Files.readString(file)).contains("executor = kernel");
    }

    @Test
    void whatWasTunedIsTaken() throws Exception {
        Path file = folder.resolve("banyan-tuned.ini");
        JsonNode report = CommandRun.of(
                        "tune --predict --machine p3.8xlarge -b 1K -e 4M -f 4 --format json --output " + file)
                .json();
        Machine machine = Machine.preset("p3.8xlarge");
        Planner planner = planner(machine);
        assertThat(report.get("rows")).hasSize(7);
        for (JsonNode size : report.get("rows")) {
            CollectiveRequest request = allReduce(size.get("bytes").asLong());
            AlgorithmConfig choice = planner.choose(request);
            assertThat(choice).hasToString(size.get("choice").asText());
            assertThat(planner.predictedUs(choice, request))
                    .isEqualTo(size.get("timeUs").asDouble());
            double least = Double.POSITIVE_INFINITY;
            for (JsonNode best : size.get("best")) {
                least = Math.min(least, best.get("timeUs").asDouble());
            }
            assertThat(size.get("timeUs").asDouble()).isEqualTo(least);
            // MXNET_KVSTORE_TREE_BACKTRACK is to choose the generator later.
            assertThat(size.at("/best/multi-tree/choice").asText())
                    .startsWith("multi-tree")
                    .doesNotContain("/");
        }
        assertThat(TuningFile.read(file).sections().getFirst().rules())
                .containsExactly(Map.entry(
                        Collective.ALL_REDUCE,
                        SizeRules.parse(report.get("rules").asText())));
        assertThat(Config.builder().load(Map.of(), Map.of(), folder).warnings()).isEmpty();

        Machine other = machine.subset(0, 1, 3, 2);
        assertThat(planner(other).choose(allReduce(1 << 20)))
                .isEqualTo(Planner.of(other, Config.defaults(), Platform.simulated(Execution.PROGRAMS))
                        .choose(allReduce(1 << 20)));
        Config ring = Config.builder()
                .set(Planner.ALGORITHM, SizeRules.always(AlgorithmChoice.RING))
                .load(Map.of(), Map.of(), folder);
        assertThat(Planner.of(machine, ring).choose(allReduce(1 << 20)))
                .isEqualTo(AlgorithmConfig.of(AlgorithmChoice.RING));
    }

    /** The shortest chunks that could be tried are more than a plan may have. */
    @Test
    void aGibibyteIsTuned() throws Exception {
        CommandRun run = CommandRun.of(
                "tune --predict --machine p3.16xlarge -b 1G -e 1G --output " + folder.resolve("tuned.ini"));
        assertThat(run.status()).as(run.err()).isZero();
    }

    @Test
    void anIterationOfAWorkloadIsPredicted() throws Exception {
        Path keys =
                Files.writeString(folder.resolve("keys.csv"), "name,elements\nfc,400000\nconv,9408\n# x\nbias,64\n");
        Path file = folder.resolve("t.ini");
        String arguments = "tune --predict --machine p3.8xlarge -b 64K -e 1M --workload " + keys + " --output " + file;
        CommandRun run = CommandRun.of(arguments);
        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.out())
                .contains(
                        "one iteration over the 3 keys of keys.csv",
                        "best MXNET_KVSTORE_TREE_ARRAY_BOUND",
                        file.toString());
        assertThat(TuningFile.read(file).sections())
                .singleElement()
                .extracting(Tuning::machine, Tuning::platform)
                .containsExactly("p3.8xlarge", Platform.simulated(Execution.PROGRAMS));
        JsonNode report = CommandRun.of(arguments + " --format json").json();
        Map<String, Double> ms = new HashMap<>();
        report.get("ways")
                .forEach(way ->
                        ms.put(way.get("name").asText(), way.get("oneByOneMs").asDouble()));
        assertThat(ms)
                .containsOnlyKeys(
                        "tuned",
                        "auto",
                        "single-tree (kernighan-lin)",
                        "multi-tree (kernighan-lin)",
                        "packing",
                        "ring",
                        "star",
                        "one-shot");
        assertThat(ms.getOrDefault("auto", Double.NaN))
                .isLessThanOrEqualTo(1.05
                        * Math.min(
                                ms.getOrDefault("packing", Double.NaN),
                                ms.getOrDefault("multi-tree (kernighan-lin)", Double.NaN)));
        // Rules know the sizes that were tried, and auto each size.
        assertThat(ms.getOrDefault("tuned", Double.NaN)).isLessThanOrEqualTo(1.1 * ms.getOrDefault("auto", Double.NaN));
        assertThat(report.get("bestArrayBound").asLong()).isLessThan(400_000);
    }

    @ParameterizedTest
    @ValueSource(strings = {"p3.8xlarge", "pcie-4"})
    void aWinnerIsNamedOnlyWhereRangesDoNotOverlap(String machine) throws Exception {
        winnersDoNotOverlap(machine, 8);
    }

    @Tag("soak")
    @ParameterizedTest
    @MethodSource("dev.banyan.cli.PresetNames#ofAtMost16Devices")
    void winnersOfNoPresetOverlap(String machine) throws Exception {
        winnersDoNotOverlap(machine, 2);
    }

    private void winnersDoNotOverlap(String name, int factor) throws Exception {
        Machine machine = Machine.preset(name);
        String arguments = "tune --predict -b 16K -e 4M -f " + factor + " --machine " + name + " --output "
                + folder.resolve("w.ini");
        RangedCosts costs =
                new RangedCosts(machine, Profiles.of(machine), CudaBackendProvider.execution(Config.defaults()));
        Planner planner = new Planner(
                machine, Config.defaults(), costs.usual(), costs.usual().platform());
        List<String> lines = CommandRun.of(arguments).out().lines().toList();
        for (JsonNode row : CommandRun.of(arguments + " --format json").rows()) {
            long bytes = row.get("bytes").asLong();
            AlgorithmConfig choice = AlgorithmConfig.parse(row.get("choice").asText());
            double mostUs = range(costs, planner, choice, bytes).mostUs();
            boolean apart = true;
            for (Map.Entry<String, JsonNode> best : row.get("best").properties()) {
                if (best.getKey().equals(choice.algorithm().label())) {
                    continue;
                }
                TimeRange other = best.getKey().equals("nccl")
                        ? ofNccl(machine, bytes)
                        : range(
                                costs,
                                planner,
                                AlgorithmConfig.parse(
                                        best.getValue().get("choice").asText()),
                                bytes);
                apart &= other.leastUs() > mostUs;
            }
            assertThat(row.get("apart").asBoolean()).as("%s on %s", row, name).isEqualTo(apart);
            assertThat(lines)
                    .filteredOn(line -> line.strip().startsWith(new ByteSize(bytes).label() + " "))
                    .singleElement()
                    .asString()
                    .matches(line -> line.contains("*") == row.get("apart").asBoolean());
        }
    }

    private static TimeRange ofNccl(Machine machine, long bytes) {
        SimulatedNccl nccl = SimulatedNccl.compared(machine, Profiles.of(machine));
        return nccl.range(Collective.ALL_REDUCE, bytes).orElse(UNKNOWN);
    }

    private static TimeRange range(RangedCosts costs, Planner planner, AlgorithmConfig choice, long bytes) {
        return costs.range(planner.plan(choice, allReduce(bytes))).orElse(UNKNOWN);
    }

    @Test
    void theSweepIsDrawn() throws Exception {
        Path svg = folder.resolve("tuned.svg");
        CommandRun run =
                CommandRun.of("tune --predict --machine p3.8xlarge --collective broadcast -b 1K -e 64K --output "
                        + folder.resolve("p.ini") + " --plot " + svg);
        assertThat(run.status()).as(run.err()).isZero();
        assertThat(Files.readString(svg))
                .contains(
                        "<svg",
                        "broadcast on p3.8xlarge, simulated: time",
                        "broadcast on p3.8xlarge, simulated: bus bandwidth")
                .contains("single-tree, multi-tree, packing, ring, star, one-shot, nccl, tuned, bound of the links");
    }

    @Test
    void theHostBackendIsMeasured() throws Exception {
        Path file = folder.resolve("h.ini");
        JsonNode report = CommandRun.of("tune --backend host --machine dgx-1v --devices 0,1 -b 1K -e 4K -f 2"
                        + " --format json --collective broadcast --output " + file)
                .json();
        assertThat(report.get("how").asText()).startsWith("measured in host memory (");
        assertThat(report.get("rows")).hasSize(3);
        Tuning tuning = TuningFile.read(file).sections().getFirst();
        assertThat(tuning.platform()).isEqualTo(Platform.ofThisHost());
        assertThat(tuning.rules()).containsOnlyKeys(Collective.BROADCAST);
    }

    /** A file holds what several runs found; what another backend found never changes a choice. */
    @Test
    void runsAddSections() throws Exception {
        Path file = folder.resolve("banyan-tuned.ini");
        Machine machine = Machine.preset("dgx-1v").subset(0, 1);
        Planner before = planner(machine);
        String options = " --machine dgx-1v --devices 0,1 -b 1K -e 4K --format json --output " + file;
        CommandRun.of("tune --backend host" + options).json();
        assertThat(planner(machine).choose(allReduce(1 << 10))).isEqualTo(before.choose(allReduce(1 << 10)));
        CommandRun.of("tune --predict" + options).json();
        CommandRun.of("tune --predict --collective reduce" + options).json();
        TuningFile written = TuningFile.read(file);
        assertThat(written.sections())
                .extracting(section -> section.platform().backend())
                .containsExactly("host", "sim");
        assertThat(written.sections().getLast().rules()).containsOnlyKeys(Collective.ALL_REDUCE, Collective.REDUCE);
        Files.writeString(file, "BANYAN_TUNED_MACHINE=dgx-1v\n");
        CommandRun run = CommandRun.of("tune --predict" + options);
        assertThat(run.status()).isNotZero();
        assertThat(run.err()).contains("line 1", "delete the file and run banyan tune again");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "--backend gpu|no backend is called 'gpu'",
                "--backend host --profile pcie|add --predict",
                "--workload vgg-16|--workload is predicted; add --predict",
                "--predict --backend cuda|leave --backend out",
                "--workload resnet-51|did you mean resnet-50",
                "--predict --workload vgg-16 --collective reduce|leave --collective out",
                "-f 1|-f is 1; it must be at least 2",
                "-b 1M -e 1K|-b is 1M and -e is 1K; sizes must be positive and ascending",
                "-b 0|sizes must be positive and ascending",
                "--predict --devices 3|at least 2 devices",
                "--plot tuned.gif|ends in .svg"
            })
    void wrongUsageIsOneSentence(String options, String sentence) {
        CommandRun run = CommandRun.of("tune --machine dgx-1v --output " + folder.resolve("x") + " " + options);
        assertThat(run.status()).as(run.err()).isEqualTo(2);
        assertThat(run.err()).startsWith("banyan: ").contains(sentence);
        assertThat(folder.resolve("x")).doesNotExist();
    }

    @Test
    void filesWithoutSizesAreRefused() throws Exception {
        Path keys = Files.writeString(folder.resolve("keys.csv"), "name,elements\nfc,many\n");
        CommandRun run = CommandRun.of("tune --predict --machine dgx-1v --workload " + keys);
        assertThat(run.status()).isEqualTo(2);
        assertThat(run.err()).contains("keys.csv, line 2: 'many' is no number of elements");
    }

    @Test
    void noneOfSeveralWritersLosesASection() throws Exception {
        Path file = folder.resolve("shared.ini");
        List<Tuning> sections = Presets.all().stream()
                .map(machine -> Tuning.of(
                        Platform.simulated(Execution.CHUNKS),
                        machine,
                        Map.of(Collective.ALL_REDUCE, SizeRules.always(AlgorithmChoice.RING))))
                .toList();
        TuningFile expected = TuningFile.EMPTY;
        for (Tuning section : sections) {
            expected = expected.with(section);
        }
        try (ExecutorService threads = Executors.newFixedThreadPool(sections.size())) {
            CountDownLatch begin = new CountDownLatch(sections.size());
            List<Future<?>> writers = new ArrayList<>();
            for (Tuning section : sections) {
                writers.add(threads.submit(() -> {
                    begin.countDown();
                    begin.await();
                    new SharedTuningFile(file).add(section);
                    return null;
                }));
            }
            for (Future<?> writer : writers) {
                writer.get();
            }
        }
        assertThat(TuningFile.read(file).sections())
                .extracting(Tuning::links)
                .containsExactlyInAnyOrderElementsOf(
                        expected.sections().stream().map(Tuning::links).toList());
    }

    /** The timer runs when the test says so: at once. */
    private static final class Late implements Deadlines {
        @Override
        public long nanoTime() {
            return 0;
        }

        @Override
        public Future<?> after(long delayNanos, Runnable task) {
            task.run();
            return CompletableFuture.completedFuture(null);
        }
    }

    @Test
    void aLockThatStaysIsNamed() throws IOException {
        Path file = folder.resolve("held.ini");
        Path beside = folder.toRealPath().resolve(".held.ini.lock");
        Tuning section = Tuning.of(
                Platform.simulated(Execution.CHUNKS),
                Machine.preset("p3.8xlarge"),
                Map.of(Collective.ALL_REDUCE, SizeRules.always(AlgorithmChoice.RING)));
        try (FileChannel channel = FileChannel.open(beside, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
                FileLock _ = channel.lock()) {
            assertThatThrownBy(() -> new SharedTuningFile(file, new Late()).add(section))
                    .hasStackTraceContaining("another process has held the lock of ");
        }
    }
}
