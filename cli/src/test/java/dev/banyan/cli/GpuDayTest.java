package dev.banyan.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.MissingNode;
import dev.banyan.cuda.emulator.NcclStandIn;
import dev.banyan.simulate.Constant;
import dev.banyan.simulate.Profile;
import dev.banyan.simulate.ProfileJson;
import dev.banyan.test.Processes;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** {@code banyan gpu-day} on the emulated driver, through the real command. */
class GpuDayTest {
    private static final List<String> PARTS = List.of(
            "cards",
            "probe",
            "graph-launch",
            "kernel-launch",
            "flags",
            "reductions",
            "copies-at-once",
            "peer-bandwidth",
            "overhead",
            "reduce",
            "writes",
            "selftest-1",
            "selftest-2",
            "selftest-4",
            "selftest-8",
            "selftest-all",
            "selftest-graph",
            "nccl",
            "workload",
            "memcheck",
            "racecheck",
            "initcheck",
            "large",
            "trainer");

    /** What needs more than the emulated driver and this command. */
    private static final List<String> NEED_MORE = List.of("memcheck", "racecheck", "initcheck", "large", "trainer");

    /** Two GPUs with an NVLink between them, and a third one that has no peer access. */
    private static final String NVML = """
        driver 535.129.03
        gpu 0 00000000:00:17.0 7 0 16945512448 0 3 16 Tesla V100-SXM2-16GB
        gpu 1 00000000:00:18.0 7 0 16945512448 0 3 16 Tesla V100-SXM2-16GB
        gpu 2 00000000:00:19.0 7 0 16945512448 0 3 16 Tesla V100-SXM2-16GB
        links 0 1
        link 0 0 2 1 00000000:00:18.0 gpu
        links 1 1
        link 1 0 2 1 00000000:00:17.0 gpu
        links 2 0
        level 0 1 30
        level 0 2 30
        level 1 2 30
        peer 0 2 0 3
        peer 0 2 1 3
        peer 1 2 0 3
        peer 1 2 1 3
        peer 2 0 0 3
        peer 2 0 1 3
        peer 2 1 0 3
        peer 2 1 1 3
        """;

    private static final String CUDA = "devices 3\npeer 0 2 none\npeer 1 2 none\n";

    @RegisterExtension
    static final Processes PROCESSES = new Processes();

    @TempDir
    static Path drivers;

    private static @Nullable EmulatedMachine machine;

    @TempDir
    Path folder;

    @BeforeAll
    static void buildDrivers() throws Exception {
        // No compute-sanitizer is on this path.
        machine = EmulatedMachine.build(drivers, PROCESSES)
                .withPath(Files.createDirectory(drivers.resolve("bin")))
                .with("BANYAN_NCCL_LIBRARY=" + NcclStandIn.build());
        Files.writeString(drivers.resolve("machine.txt"), NVML);
    }

    @Test
    void aProfileComesOfTheMeasurements() throws Exception {
        Path day = folder.resolve("day");
        List<String> measured = List.of(
                "cards", "probe", "graph-launch", "flags", "reductions", "copies-at-once", "peer-bandwidth", "nccl");
        CommandRun run = banyan(CUDA, "gpu-day --quick --parts " + String.join(",", measured) + " --output " + day);
        Map<String, JsonNode> parts = parts(day);
        for (String part : PARTS) {
            if (measured.contains(part)) {
                assertThat(status(parts, part)).as("%s", parts.get(part)).isEqualTo("done");
            } else {
                assertThat(reason(parts, part)).isEqualTo("--parts does not name it");
            }
        }
        assertThat(run.out()).contains("cards: done, ");
        assertProfile(day);
    }

    @Test
    @Tag("soak")
    void everyPartIsMeasuredAndAProfileComesOfIt() throws Exception {
        Path day = folder.resolve("day");
        CommandRun run = banyan(CUDA, "gpu-day --quick --output " + day);
        Map<String, JsonNode> parts = parts(day);
        parts.forEach((name, part) -> {
            if (NEED_MORE.contains(name)) {
                assertThat(part.get("status").asText()).as("%s", part).isNotEqualTo("done");
                assertThat(part.get("reason").asText()).isNotEmpty();
            } else {
                assertThat(part.get("status").asText()).as("%s", part).isEqualTo("done");
                assertThat(part.get("reason").isNull()).isTrue();
                assertThat(part.get("seconds").doubleValue()).isPositive();
            }
        });
        assertThat(run.out()).contains("cards: done, ").contains("large: skipped: --quick takes no arrays");
        JsonNode summary = json(day.resolve("summary.json"));
        assertThat(summary.get("driver").asText()).isEqualTo("CUDA 12.6");
        assertThat(summary.get("cards")).hasSize(3);
        assertThat(Files.readString(day.resolve("summary.txt")))
                .contains("driver   CUDA 12.6", "GPU2     Tesla V100-SXM2-16GB, sm_70", "the figures mean nothing")
                .contains("cases failed: 0 cases")
                .contains("two blocks of GPU0, access acquire, release")
                .contains("from 0, to 1, by loads of the target's kernel")
                .contains("nodes 16, shape chain over all GPUs by turns")
                .contains("loads and stores from GPU0 to GPU2 are left out, as they have no peer access");
        assertProfile(day);
    }

    private void assertProfile(Path day) throws IOException {
        // What the emulated driver takes is any bandwidth, and may be one that no machine can have.
        Path probe = day.resolve("probe.out.txt");
        Files.writeString(probe, Files.readString(probe).replaceAll("(?<= )\\d+\\.\\d\\d(?= |\\n)", "12.00"));
        Path output = folder.resolve("profile.json");
        CommandRun calibrate = CommandRun.of("calibrate --from " + day + " --output " + output);
        assertThat(calibrate.status()).as(calibrate.err()).isZero();
        assertThat(calibrate.err()).contains("was measured with --quick");
        assertThat(calibrate.out())
                .contains("# kernelUs: 2.5 (assumed, start of a kernel")
                .contains("# still assumed: pcie.queueing");
        assertThat(ProfileJson.read(output).source(Constant.LAUNCH_US)).contains("a further independent node");
    }

    @Test
    void theFolderIsWholeThoughPartsFail() throws Exception {
        Path day = folder.resolve("day");
        CommandRun run = banyan(
                CUDA,
                "gpu-day --quick --parts cards,graph-launch,kernel-launch,flags,selftest-all,nccl --output " + day
                        + " --deadline cards=0,graph-launch=0,flags=0");
        assertThat(run.status()).isEqualTo(1);
        assertThat(run.err()).contains("3 parts failed; see " + day.resolve("summary.txt"));
        Map<String, JsonNode> parts = parts(day);
        for (String part : List.of("cards", "graph-launch", "flags")) {
            assertThat(status(parts, part)).as(part).isEqualTo("failed");
            assertThat(reason(parts, part)).isEqualTo("it did not end within 0 s and was ended");
        }
        for (String part : List.of("selftest-all", "nccl")) {
            assertThat(reason(parts, part)).contains("the part cards is not done");
        }
        assertThat(status(parts, "kernel-launch")).isEqualTo("done");
        assertThat(json(day.resolve("summary.json")).get("driver").asText())
                .isEqualTo("not known, as the part cards is not done");
    }

    @Test
    void hangsAndErrorsOfTheDriverEndTheirPartAlone() throws Exception {
        Path day = folder.resolve("day");
        CommandRun run = banyan(
                "devices 1\nop kernel 1 hang\nfail cuGraphUpload 1 2\n",
                "gpu-day --quick --parts cards,graph-launch,kernel-launch,peer-bandwidth,selftest-all"
                        + " --deadline kernel-launch=2 --output " + day);
        assertThat(run.err()).contains("2 parts failed");
        Map<String, JsonNode> parts = parts(day);
        assertThat(status(parts, "cards")).isEqualTo("done");
        assertThat(reason(parts, "graph-launch"))
                .isEqualTo("cuGraphUpload of 1 nodes on GPU0 failed: CUDA_ERROR_OUT_OF_MEMORY");
        assertThat(reason(parts, "kernel-launch")).isEqualTo("it did not end within 2 s and was ended");
        assertThat(status(parts, "peer-bandwidth")).isEqualTo("skipped");
        assertThat(reason(parts, "peer-bandwidth")).isEqualTo("there is one GPU, and so no pair");
        assertThat(reason(parts, "selftest-all")).isEqualTo("there is one GPU, and so selftest-1 is the same");
        assertThat(reason(parts, "flags")).isEqualTo("--parts does not name it");
    }

    @Test
    void whatComputeSanitizerFindsFailsItsPart() throws Exception {
        Path tools = Files.createDirectory(folder.resolve("bin"));
        Path tool = Files.writeString(tools.resolve("compute-sanitizer"), """
            #!/bin/sh
            while [ "${1#--}" != "$1" ]; do tool="$tool $1 $2"; shift 2; done
            case $tool in
                *memcheck*) "$@"; echo "========= ERROR SUMMARY: 0 errors" ;;
                *) echo "========= RACECHECK SUMMARY: 3 hazards displayed (3 errors, 0 warnings)"; exit 9 ;;
            esac
            """);
        assertThat(tool.toFile().setExecutable(true)).isTrue();
        Path day = folder.resolve("day");
        CommandRun run = Objects.requireNonNull(machine)
                .withPath(tools)
                .banyan(folder, "devices 1\n", "gpu-day --quick --parts memcheck,racecheck --output " + day);
        assertThat(run.err()).contains("1 part failed");
        assertThat(status(parts(day), "memcheck")).isEqualTo("done");
        assertThat(reason(parts(day), "racecheck")).startsWith("compute-sanitizer found RACECHECK SUMMARY: 3 hazards");
    }

    @Test
    void wrongUsageIsOneSentence() throws IOException {
        Path file = Files.writeString(folder.resolve("file"), "");
        assertThat(CommandRun.of("gpu-day --output " + file.resolve("day")).err())
                .startsWith("banyan: can't write to the folder " + file.resolve("day"))
                .containsOnlyOnce("\n");
        assertThat(CommandRun.of("gpu-day --output " + folder).err())
                .isEqualTo("banyan: " + folder + " is there and not empty; name another folder with --output\n");
        assertThat(CommandRun.of("gpu-day --parts cards,nonsense").err())
                .contains("--parts: no part is called 'nonsense'; there are cards, probe");
        assertThat(CommandRun.of("gpu-day --deadline nonsense=1").err()).contains("no part is called 'nonsense'");
        assertThat(CommandRun.of("gpu-day --deadline flags=-1").err()).contains("must be at least 0");
        assertThat(CommandRun.of("gpu-day --minutes 0").err()).contains("--minutes is 0; it must be above 0");
    }

    @Test
    void constantsAreThoseOfTheFigures() throws IOException {
        Path output = folder.resolve("profile.json");
        CommandRun run = CommandRun.of(
                "calibrate --machine pcie-4 --from " + madeUp("madeUp") + " --name ours --output " + output);
        assertThat(run.status()).as(run.err()).isZero();
        Profile profile = ProfileJson.read(output);
        assertThat(profile.get(Constant.REDUCE_GBS)).isEqualTo(1400);
        assertThat(profile.get(Constant.LAUNCH_US)).isEqualTo(0.5);
        assertThat(profile.get(Constant.KERNEL_US)).isEqualTo(1.5);
        assertThat(profile.get(Constant.COLLECTIVE_US)).isEqualTo(8);
        assertThat(profile.get(Constant.COPY_ENGINES)).isEqualTo(3);
        assertThat(profile.get(Constant.PROGRAM_LAUNCH_STEP_US)).isEqualTo(0.5);
        assertThat(profile.get(Constant.PROGRAM_LAUNCH_US)).isEqualTo(7 - 1.5);
        assertThat(profile.get(Constant.PROGRAM_FLAG_US)).isEqualTo(2.5);
        assertThat(profile.get(Constant.PROGRAM_STORE_FRACTION)).isEqualTo(0.9);
        assertThat(profile.fastest().get(Constant.PROGRAM_FLAG_US)).isEqualTo(2.5);
        assertThat(profile.fastest().get(Constant.PROGRAM_SLICE_US)).isEqualTo(0.1);
        assertThat(profile.source(Constant.PCIE_QUEUEING)).startsWith("not measured; taken from pcie: assumed");
        assertThat(run.out())
                .contains("# collectiveUs: 10 (assumed, a graph launch and its end; not measured) is replaced by 8 (")
                .contains("# still assumed: pcie.queueing, socket.queueing, program.endUs, program.lineUs")
                .contains("# from elsewhere, as in pcie: nvlink.efficiency");
    }

    @Test
    void foldersThatAreNotWholeAreRefusedInOneSentence() throws IOException {
        Path empty = Files.createDirectory(folder.resolve("empty"));
        assertRefused(empty, "is no folder of banyan gpu-day, as it has no summary.json");
        assertRefused(folder.resolve("none"), "none");

        Path truncated = madeUp("truncated");
        Path part = truncated.resolve("reductions.json");
        String text = Files.readString(part);
        Files.writeString(part, text.substring(0, text.length() / 2));
        assertRefused(truncated, "reductions.json can't be understood at line ");

        Path lacking = madeUp("lacking");
        Files.delete(lacking.resolve("reductions.json"));
        assertRefused(lacking, "reductions.json is missing, though summary.json names it");

        Path other = madeUp("other");
        Files.writeString(other.resolve("summary.json"), "{\"format\": \"holiday\", \"version\": 1}");
        assertRefused(other, "is of the format \"holiday\"");

        Path none = madeUp("nothing");
        Files.writeString(none.resolve("reductions.json"), part("reductions", ""));
        Files.writeString(none.resolve("graph-launch.json"), part("graph-launch", ""));
        Files.writeString(none.resolve("copies-at-once.json"), part("copies-at-once", ""));
        Files.writeString(none.resolve("kernel-launch.json"), part("kernel-launch", ""));
        Files.writeString(none.resolve("flags.json"), part("flags", ""));
        Files.writeString(none.resolve("peer-bandwidth.json"), part("peer-bandwidth", ""));
        assertRefused(none, "has no figure that a profile needs");
        CommandRun run = CommandRun.of("calibrate --from " + madeUp("unnamed"));
        assertThat(run.err()).contains("its machine is not known; name it with --machine");
    }

    private static void assertRefused(Path from, String reason) {
        CommandRun run = CommandRun.of("calibrate --machine pcie-4 --from " + from);
        assertThat(run.status()).isEqualTo(1);
        assertThat(run.err()).startsWith("banyan: ").contains(reason).containsOnlyOnce("\n");
    }

    /** A folder with figures that no machine has measured. */
    private Path madeUp(String name) throws IOException {
        Path day = Files.createDirectory(folder.resolve(name));
        Files.writeString(
                day.resolve("graph-launch.json"),
                part(
                        "graph-launch",
                        String.join(
                                ",",
                                figure("graph launch, end to end", "nodes", "1", "chain on one GPU", 10),
                                figure("graph launch, end to end", "nodes", "1024", "chain on one GPU", 10 + 2 * 1023),
                                figure("graph launch, end to end", "nodes", "1", "independent nodes on one GPU", 10),
                                figure(
                                        "graph launch, end to end",
                                        "nodes",
                                        "1024",
                                        "independent nodes on one GPU",
                                        10 + 0.5 * 1023))));
        Files.writeString(
                day.resolve("reductions.json"),
                part("reductions", figure("reduction, read and written", "inputs", "2", "", 1400)));
        Files.writeString(
                day.resolve("copies-at-once.json"),
                part("copies-at-once", figure("copies that ran at once", "copies", "4", "to the host", 2.9)));
        Files.writeString(
                day.resolve("kernel-launch.json"),
                part(
                        "kernel-launch",
                        String.join(
                                ",",
                                figure("kernel launch, host", "one for all GPUs", 3, "GPUs", "1"),
                                figure("kernel launch, host", "one for all GPUs", 17, "GPUs", "8"),
                                figure("kernel launch, host", "one per GPU", 4, "GPUs", "2"),
                                figure("kernel launch, host", "one per GPU", 7, "GPUs", "8"),
                                figure("kernel launch, end to end", "one for all GPUs", 7, "GPUs", "1"))));
        Files.writeString(
                day.resolve("flags.json"),
                part(
                        "flags",
                        String.join(
                                ",",
                                figure("flag round trip", "volatile", 4, "between", "GPU 0 and GPU 1"),
                                figure(
                                        "flag round trip",
                                        "relaxed, fence.acq_rel.sys",
                                        2,
                                        "between",
                                        "two blocks of GPU 0"),
                                figure(
                                        "flag round trip",
                                        "relaxed, fence.acq_rel.sys",
                                        5,
                                        "between",
                                        "GPU 0 and GPU 1"))));
        Files.writeString(
                day.resolve("peer-bandwidth.json"),
                part(
                        "peer-bandwidth",
                        String.join(
                                ",",
                                figure("peer bandwidth", "copy engines", 40, "from", "0", "to", "1"),
                                figure("peer bandwidth", "stores of the source's kernel", 36, "from", "0", "to", "1"),
                                figure(
                                        "peer bandwidth",
                                        "stores of the source's kernel",
                                        99,
                                        "from",
                                        "1",
                                        "to",
                                        "0"))));
        Map<String, Object> summary = new LinkedHashMap<>();
        summary.put("format", "banyan gpu-day");
        summary.put("version", 1);
        summary.put(
                "parts",
                List.of("graph-launch", "reductions", "copies-at-once", "kernel-launch", "flags", "peer-bandwidth")
                        .stream()
                        .map(each -> Map.of("part", each, "status", "done", "seconds", 1, "file", each + ".json"))
                        .toList());
        new ObjectMapper().writeValue(day.resolve("summary.json").toFile(), summary);
        return day;
    }

    private static String part(String name, String figures) {
        return "{\"part\": \"" + name + "\", \"status\": \"done\", \"figures\": [" + figures + "]}\n";
    }

    /** A figure whose kind is what threads there were, how flags were accessed, or by what bytes were moved. */
    private static String figure(String name, String kind, double median, String... of) {
        StringBuilder keys = new StringBuilder();
        for (int key = 0; key < of.length; key += 2) {
            keys.append("\"")
                    .append(of[key])
                    .append("\": \"")
                    .append(of[key + 1])
                    .append("\", ");
        }
        return String.format(
                Locale.ROOT,
                "{\"name\": \"%s\", \"of\": {%s\"threads\": \"%s\", \"access\": \"%s\", \"by\": \"%s\"},"
                        + " \"unit\": \"us\", \"median\": %f, \"least\": 1, \"greatest\": 2, \"samples\": 3}",
                name,
                keys,
                kind,
                kind,
                kind,
                median);
    }

    private static String figure(String name, String key, String value, String kind, double median) {
        return String.format(
                Locale.ROOT,
                "{\"name\": \"%s\", \"of\": {\"%s\": \"%s\", \"shape\": \"%s\", \"way\": \"%s\"}, \"unit\": \"us\","
                        + " \"median\": %f, \"least\": 1, \"greatest\": 2, \"samples\": 3}",
                name,
                key,
                value,
                kind,
                kind,
                median);
    }

    /** The parts of a whole folder. */
    private static Map<String, JsonNode> parts(Path day) throws IOException {
        Map<String, JsonNode> parts = new LinkedHashMap<>();
        for (JsonNode entry : json(day.resolve("summary.json")).get("parts")) {
            JsonNode part = json(day.resolve(entry.get("file").asText()));
            assertThat(part.get("part")).isEqualTo(entry.get("part"));
            assertThat(part.get("status")).isEqualTo(entry.get("status"));
            parts.put(part.get("part").asText(), part);
        }
        assertThat(parts.keySet()).containsExactlyElementsOf(PARTS);
        String page = Files.readString(day.resolve("summary.txt"));
        PARTS.forEach(part -> assertThat(page).contains("\n" + part + ": "));
        return parts;
    }

    private static String status(Map<String, JsonNode> parts, String part) {
        return parts.getOrDefault(part, MissingNode.getInstance())
                .path("status")
                .asText();
    }

    private static String reason(Map<String, JsonNode> parts, String part) {
        return parts.getOrDefault(part, MissingNode.getInstance())
                .path("reason")
                .asText();
    }

    private static JsonNode json(Path file) throws IOException {
        return new ObjectMapper().readTree(Files.readString(file));
    }

    private CommandRun banyan(String commands, String arguments) throws IOException, InterruptedException {
        return Objects.requireNonNull(machine).banyan(folder, commands, arguments);
    }
}
