package dev.banyan.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.cuda.emulator.NcclStandIn;
import dev.banyan.simulate.Constant;
import dev.banyan.simulate.Profile;
import dev.banyan.simulate.ProfileJson;
import dev.banyan.test.Processes;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** {@code scripts/gpu-day.sh} on the emulated driver, and {@code banyan calibrate} with what it leaves. */
class GpuDayTest {
    private static final Path MODULES = Path.of(System.getProperty("banyan.modules", ".."));

    /** Figures that no machine has measured. */
    private static final List<String> FIGURES = List.of(
            "cards|{'fact':{'name':'driver','of':{},'value':'CUDA 12.6'}}",
            "graph-launch|graph launch, end to end|10|'nodes':'1','shape':'chain on one GPU'",
            "graph-launch|graph launch, end to end|2056|'nodes':'1024','shape':'chain on one GPU'",
            "graph-launch|graph launch, end to end|10|'nodes':'1','shape':'independent nodes on one GPU'",
            "graph-launch|graph launch, end to end|521.5|'nodes':'1024','shape':'independent nodes on one GPU'",
            "reductions|reduction, read and written|1400|'inputs':'2'",
            "copies-at-once|copies that ran at once|2.9|'copies':'4','way':'to the host'",
            "kernel-launch|kernel launch, host|3|'threads':'one for all GPUs','GPUs':'1'",
            "kernel-launch|kernel launch, host|17|'threads':'one for all GPUs','GPUs':'8'",
            "kernel-launch|kernel launch, host|4|'threads':'one per GPU','GPUs':'2'",
            "kernel-launch|kernel launch, host|7|'threads':'one per GPU','GPUs':'8'",
            "kernel-launch|kernel launch, end to end|7|'threads':'one for all GPUs','GPUs':'1'",
            "flags|flag round trip|4|'access':'volatile','between':'GPU 0 and GPU 1'",
            "flags|flag round trip|2|'access':'relaxed, fence.acq_rel.sys','between':'two blocks of GPU 0'",
            "flags|flag round trip|5|'access':'relaxed, fence.acq_rel.sys','between':'GPU 0 and GPU 1'",
            "peer-bandwidth|peer bandwidth|40|'by':'copy engines','from':'0','to':'1'",
            "peer-bandwidth|peer bandwidth|36|'by':'stores of the source\\u0027s kernel','from':'0','to':'1'",
            "peer-bandwidth|peer bandwidth|99|'by':'stores of the source\\u0027s kernel','from':'1','to':'0'");

    @RegisterExtension
    static final Processes PROCESSES = new Processes();

    @TempDir
    Path folder;

    @Test
    void aProfileComesOfTheParts() throws Exception {
        Path day = folder.resolve("day");
        CommandRun run = emulated(day, "cards", "probe", "graph-launch", "memcheck", "large");
        assertThat(run.status()).as(run.err() + run.out()).isZero();
        assertThat(run.out()).contains("cards: done", "probe: done", "memcheck: skipped: compute-");
        assertThat(run.out()).contains("large: skipped: it needs 20 GB");
        assertThat(day.resolve("summary.txt")).content().contains("GPUs: 2", "card (GPU:0): ", "nodes:16, shape:");
        assertProfile(day);
    }

    @Test
    @Tag("soak")
    void everyPartRunsOnTheEmulatedDriver() throws Exception {
        Path day = folder.resolve("day");
        CommandRun run = emulated(day);
        assertThat(run.out().lines().filter(line -> line.contains(": done in ")))
                .hasSize(25);
        assertThat(run.status()).as(run.out()).isZero();
        assertProfile(day);
    }

    @Test
    @Tag("soak")
    void partsOfExchangesRunWhereTheSwitchAdds() throws Exception {
        Path day = folder.resolve("day");
        CommandRun run = emulated(
                "devices 2 switched\ncapability all 9 0\nmulticast on\n",
                day,
                "cards",
                "exchange-float",
                "exchange-double");
        assertThat(run.status()).as(run.err() + run.out()).isZero();
        assertThat(day.resolve("summary.txt"))
                .content()
                .contains("sums in the switch (GPU:0): yes", "exchange-float: done", "exchange-double: done");
        for (String type : List.of("float", "double")) {
            assertThat(day.resolve("exchange-" + type + ".json"))
                    .content()
                    .contains("\"packing\"", "\"one-shot\"", "\"ring\"");
        }
    }

    @Test
    void aPartThatFailsOrHangsDoesNotEndTheOthers() throws Exception {
        // The status 124 is that of a command that timeout has ended.
        Path script = script("case $* in *flags*) exit 124 ;; *cards*) echo 'banyan: no GPU' >&2; exit 1 ;; esac");
        CommandRun run = EmulatedMachine.run(
                List.of(script.toString(), "-o", folder.resolve("day").toString(), "flags", "cards", "nccl", "writes"),
                PROCESSES);
        assertThat(run.status()).isEqualTo(1);
        assertThat(run.out())
                .contains("flags: failed: it did not end within ", "cards: failed: no GPU")
                .contains("nccl: skipped: it needs two GPUs", "writes: done");
    }

    @Test
    void aMissingDriverIsReportedOnce() throws Exception {
        Path script = script("echo 'banyan: no NVIDIA driver: install it' >&2; exit 1");
        CommandRun run = EmulatedMachine.run(
                List.of(script.toString(), "-o", folder.resolve("day").toString()), PROCESSES);
        assertThat(run.status()).isEqualTo(1);
        assertThat(run.out())
                .contains("cards: failed: no NVIDIA driver: install it", "the other parts are left out")
                .hasLineCount(2);
    }

    @Test
    void constantsAreThoseOfTheFigures() throws IOException {
        Path output = folder.resolve("profile.json");
        CommandRun run =
                CommandRun.of("calibrate --machine pcie-4 --from " + madeUp() + " --name ours --output " + output);
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
        assertThat(profile.fastest().get(Constant.PROGRAM_SLICE_US)).isEqualTo(0.3);
        assertThat(profile.source(Constant.PCIE_QUEUEING)).startsWith("not measured; taken from pcie: assumed");
        assertThat(run.out())
                .contains("# collectiveUs: 10 (assumed, a graph launch and its end; not measured) is replaced by 8 (")
                .contains("# still assumed: nvlink.efficiency, nvlink.hopUs, pcie.queueing, socket.queueing,"
                        + " program.endUs, program.lineUs")
                .contains("# from elsewhere, as in pcie: xgmi.efficiency");
    }

    @Test
    void foldersThatAreNotWholeAreRefusedInOneSentence() throws IOException {
        assertRefused(
                Files.createDirectory(folder.resolve("none")),
                "none is no folder of gpu-day.sh, as it has no cards.jsonl");
        Path day = madeUp();
        assertThat(CommandRun.of("calibrate --from " + day).err())
                .contains("its machine is not known; name it with --machine");
        Path reductions = day.resolve("reductions.jsonl");
        for (String damaged : List.of("{\"figure\"", "null", "{\"figure\": {\"name\": null}}", "{\"speed\": 1}")) {
            Files.writeString(reductions, damaged + "\n");
            assertRefused(day, "reductions.jsonl can't be understood at line 1; run gpu-day.sh again");
        }
        // The part was ended while it wrote.
        Files.writeString(reductions, "{\"figure\"");
        assertThat(CommandRun.of("calibrate --machine pcie-4 --from " + day).status())
                .isZero();
        for (String part : List.of("reductions", "graph-launch", "copies-at-once", "kernel-launch", "flags")) {
            Files.delete(day.resolve(part + ".jsonl"));
        }
        Files.delete(day.resolve("peer-bandwidth.jsonl"));
        assertRefused(day, "has no figure that a profile needs");
    }

    @Test
    void anUnknownPartIsRefused() {
        assertThat(CommandRun.of("gpu-day nonsense").err()).contains("no part is called 'nonsense'");
    }

    private void assertProfile(Path day) throws IOException {
        // The emulated driver measures any bandwidth, also one that no machine can have.
        Path probe = day.resolve("probe.txt");
        Files.writeString(probe, Files.readString(probe).replaceAll("(?<= )\\d+\\.\\d\\d(?= |\\n)", "12.00"));
        Path output = folder.resolve("profile.json");
        CommandRun calibrate = CommandRun.of("calibrate --from " + day + " --output " + output);
        assertThat(calibrate.status()).as(calibrate.err()).isZero();
        assertThat(calibrate.err()).contains("was measured with -q");
        assertThat(ProfileJson.read(output).source(Constant.LAUNCH_US)).contains("a further independent node");
    }

    private static void assertRefused(Path from, String reason) {
        CommandRun run = CommandRun.of("calibrate --machine pcie-4 --from " + from);
        assertThat(run.status()).isEqualTo(1);
        assertThat(run.err()).startsWith("banyan: ").contains(reason).containsOnlyOnce("\n");
    }

    private Path madeUp() throws IOException {
        Path day = Files.createDirectory(folder.resolve("made-up"));
        for (String line : FIGURES) {
            String[] figure = line.split("\\|", -1);
            String json = figure.length == 2
                    ? figure[1]
                    : "{'figure':{'name':'" + figure[1] + "','of':{" + figure[3] + "},'unit':'us','median':" + figure[2]
                            + ",'least':1,'greatest':2,'samples':3}}";
            Path file = day.resolve(figure[0] + ".jsonl");
            Files.writeString(
                    file, (Files.exists(file) ? Files.readString(file) : "") + json.replace('\'', '"') + "\n");
        }
        return day;
    }

    /** Runs the script with two GPUs, and without compute-sanitizer. */
    private CommandRun emulated(Path day, String... parts) throws IOException, InterruptedException {
        return emulated("devices 2\n", day, parts);
    }

    private CommandRun emulated(String commands, Path day, String... parts) throws IOException, InterruptedException {
        EmulatedMachine machine = EmulatedMachine.build(Files.createDirectory(folder.resolve("drivers")), PROCESSES);
        Files.writeString(folder.resolve("drivers/machine.txt"), """
            driver 535.129.03
            gpu 0 00000000:00:17.0 7 0 16945512448 0 3 16 Tesla V100-SXM2-16GB
            gpu 1 00000000:00:18.0 7 0 16945512448 0 3 16 Tesla V100-SXM2-16GB
            links 0 1
            link 0 0 2 1 00000000:00:18.0 gpu
            links 1 1
            link 1 0 2 1 00000000:00:17.0 gpu
            level 0 1 30
            """);
        String java = String.join(
                " ", Processes.java(List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"), "dev.banyan.cli.Main"));
        List<String> command = new ArrayList<>(List.of(
                "/usr/bin/env",
                "BANYAN_NCCL_LIBRARY=" + NcclStandIn.build(),
                script("exec " + java + " \"$@\"").toString(),
                "-q",
                "-s",
                "6000",
                "-o",
                day.toString()));
        command.addAll(List.of(parts));
        return machine.run(folder, commands, command);
    }

    /** Copies the script beside a command that it takes for {@code banyan}. */
    private Path script(String banyan) throws IOException, InterruptedException {
        Path bundle = Files.createDirectory(folder.resolve("bundle"));
        Path command = Files.writeString(folder.resolve("banyan.sh"), "#!/bin/sh\n" + banyan + "\n");
        PROCESSES.install(command, bundle.resolve("banyan"));
        return PROCESSES.install(MODULES.resolve("scripts/gpu-day.sh"), bundle.resolve("gpu-day.sh"));
    }
}
