package dev.banyan.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;
import static org.junit.jupiter.api.parallel.ExecutionMode.CONCURRENT;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.banyan.test.Processes;
import dev.banyan.test.TestProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The packaged command through the launcher; runs after the jars are made. */
@Execution(CONCURRENT)
class LauncherIT {
    @RegisterExtension
    final Processes processes = new Processes();

    @TempDir
    Path folder;

    private final Path launcher = Path.of(System.getProperty("banyan.launcher", "banyan"));

    /** The first start makes the cache, for which starts at the same time wait, and say so. */
    @BeforeAll
    static void makeCache() throws IOException, InterruptedException {
        Path launcher = Path.of(System.getProperty("banyan.launcher", "banyan"));
        assumeTrue(Files.isExecutable(launcher) && Files.isExecutable(Path.of("/bin/bash")), "no launcher or no bash");
        ProcessBuilder first = new ProcessBuilder(launcher.toString(), "--version").inheritIO();
        first.environment().put("BANYAN_JAVA_HOME", System.getProperty("java.home"));
        assertThat(first.start().waitFor()).isZero();
    }

    @Test
    void runsFromAnyFolderAndThroughLinks() throws Exception {
        Path first = Files.createSymbolicLink(folder.resolve("first"), launcher);
        Path second = Files.createSymbolicLink(
                folder.resolve("second"), Path.of(first.getFileName().toString()));
        CommandRun run = run(second.toString(), "topo", "--machine", "dgx-2", "--format", "json");
        Files.delete(second);
        Files.delete(first);
        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.err()).isEmpty();
        assertThat(new ObjectMapper().readTree(run.out()).get("devices").asInt())
                .isEqualTo(16);
    }

    @Test
    void statusOfTheCommandIsThatOfTheLauncher() throws Exception {
        CommandRun run = run(launcher.toString(), "topo", "--machine", "no such file");
        assertThat(run.status()).isEqualTo(2);
        assertThat(run.err()).startsWith("banyan: no preset and no file is called 'no such file'");
    }

    @Test
    void readerThatGoesAwayEndsTheRunQuietly() throws Exception {
        CommandRun run = run("/bin/bash", "-c", "'" + launcher + "' predict -b 8 -e 1M | head -n 1");
        assertThat(run.status()).isZero();
        assertThat(run.out()).hasLineCount(1);
        assertThat(run.err()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"predict --devices 0,1 -b 8 -e 8", "tune --predict --devices 0,1 -b 1K -e 1K -o /dev/null"})
    void simulationsDoNotWarnOfIncubatorModules(String command) throws Exception {
        CommandRun run = run("/bin/bash", "-c", "'" + launcher + "' " + command);
        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.err()).isEmpty();
    }

    /** The loop written by hand, of 8 ranks, needs the module. */
    @Test
    void timesOfTheHostAreThoseOfVectorKernels() throws Exception {
        CommandRun run =
                run(launcher.toString(), "bench", "-m", "p3.16xlarge", "-b", "8", "-e", "8", "-n", "1", "-w", "0");
        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.out()).contains("in turns with a loop written by hand");
    }

    @Test
    void outputThatIsLostIsAFailure() throws Exception {
        Path full = Path.of("/dev/full");
        assumeTrue(Files.exists(full), "this system has no " + full);
        CommandRun run = run("/bin/bash", "-c", "'" + launcher + "' topo --machine dgx-2 > " + full);
        assertThat(run.status()).isEqualTo(1);
        assertThat(run.err())
                .startsWith("banyan: can't write to standard output (No space left on device)")
                .hasLineCount(1);
    }

    @Test
    void cacheHasTheClassesOfTheCommand() throws Exception {
        assertThat(launcher.resolveSibling("cli/target/launcher.aot")).isNotEmptyFile();
        assertThat(run(logged(launcher)).status()).isZero();
        assertThat(sourceOfTheCommand()).contains("source: shared objects file");
    }

    /** A checkout whose Maven prints lines like the real one's, and puts the real jars where they belong. */
    @Test
    void firstBuildShowsWhatItDoesAndMakesTheCache() throws Exception {
        Path copy = checkout("""
            echo "[INFO] Scanning for projects..."
            echo "[INFO] Building Banyan trees 0.1.0-SNAPSHOT                     [7/24]"
            echo "[INFO] Building Banyan device programs 0.1.0-SNAPSHOT          [24/24]"
            cp -p %1$s/banyan-cli-*.jar cli/target/
            ln -s %1$s/lib cli/target/lib
            """.formatted(launcher.resolveSibling("cli/target").toAbsolutePath()));
        // A source newer than the jar, which Maven leaves as it was.
        Files.writeString(copy.resolveSibling("pom.xml"), "");
        CommandRun first = run(logged(copy));
        assertThat(first.status()).as(first.err()).isZero();
        assertThat(first.out()).startsWith("banyan ");
        assertThat(first.err().lines())
                .containsExactly(
                        "banyan: building (first use), one to three minutes the first time ...",
                        "banyan:   7 of 24: trees",
                        "banyan:   24 of 24: device programs");
        Path cache = copy.resolveSibling("cli/target/launcher.aot");
        assertThat(cache).isNotEmptyFile();
        assertThat(sourceOfTheCommand()).contains("source: shared objects file");

        Files.writeString(cache, "no cache at all");
        assertThat(run(logged(copy))).isEqualTo(new CommandRun(0, first.out(), ""));
        assertThat(sourceOfTheCommand()).contains("banyan-cli-").doesNotContain("shared objects file");
    }

    @Test
    void buildThatFailsShowsItsErrorsAlone() throws Exception {
        Path copy = checkout("""
            echo "[INFO] Building Banyan trees 0.1.0-SNAPSHOT                     [7/24]"
            echo "[ERROR] Tree.java:[3,1] class expected"
            exit 1
            """);
        CommandRun run = run(withMaven(copy));
        assertThat(run.status()).isEqualTo(1);
        assertThat(run.out()).isEmpty();
        assertThat(run.err().lines().skip(2))
                .containsExactly(
                        "[ERROR] Tree.java:[3,1] class expected",
                        "banyan: the build failed (errors above, all of its output in "
                                + copy.resolveSibling("cli/target/launcher.log") + ")");
    }

    /** A start of the command that logs where Java finds its classes. */
    private ProcessBuilder logged(Path banyan) {
        ProcessBuilder builder = withMaven(banyan);
        builder.environment().put("BANYAN_JAVA_OPTS", "-Xlog:class+load:file=" + folder.resolve("classes.log"));
        return builder;
    }

    /** Returns the place where Java found the command's main class, as the log of the last start has it. */
    private String sourceOfTheCommand() throws IOException {
        try (Stream<String> lines = Files.lines(folder.resolve("classes.log"))) {
            return lines.filter(line -> line.contains(" dev.banyan.cli.BanyanCommand "))
                    .findFirst()
                    .orElseThrow();
        }
    }

    /** Makes a checkout without jars, and in {@code bin} beside it a Maven that runs a script. */
    private Path checkout(String maven) throws IOException, InterruptedException {
        Path root = Files.createDirectories(folder.resolve("checkout")).toRealPath();
        Path bin = Files.createDirectories(folder.resolve("bin"));
        Path script = Files.writeString(folder.resolve("mvn.sh"), "#!/bin/bash\nset -eu\n" + maven);
        processes.install(script, bin.resolve("mvn"));
        return processes.install(launcher, root.resolve("banyan"));
    }

    private ProcessBuilder withMaven(Path banyan) {
        ProcessBuilder builder = builder(banyan.toString(), "--version");
        builder.environment().merge("PATH", folder.resolve("bin").toString(), (path, bin) -> bin + ":" + path);
        return builder;
    }

    /** The folder of the jars is one in which nobody can make anything, not even root. */
    @Test
    void checkoutThatCannotBeWrittenIsNamedAtOnce() throws Exception {
        Path copy = checkout("exit 1");
        Path target = Files.createSymbolicLink(
                Files.createDirectories(copy.resolveSibling("cli")).resolve("target"), Path.of("/proc/self"));
        CommandRun run = run(copy.toString(), "--version");
        Files.delete(target);
        assertThat(run.status()).isEqualTo(1);
        assertThat(run.err())
                .startsWith("banyan: cannot build in " + target + " (mkdir: ")
                .endsWith("make that folder writable, or work in a copy of the checkout\n")
                .hasLineCount(1);
    }

    @Test
    void aLockOfAnotherUserIsWaitedForAndNamed() throws Exception {
        long owner = ProcessHandle.current().pid();
        Path copy = checkoutLockedBy(owner);
        TestProcess waiting = processes.start(asNobody(copy).redirectErrorStream(true));
        waiting.awaitLine("banyan: waiting for another build (process " + owner + " of user root)");
        Path lock = copy.resolveSibling("cli/target/launcher.lock");
        Files.delete(lock.resolve("pid"));
        Files.delete(lock);
        assertThat(waiting.await()).isEqualTo(1);
        assertThat(waiting.out()).contains("banyan: cannot build in ");
    }

    @Test
    void aLockThatAnotherUserLeftIsNamed() throws Exception {
        TestProcess ended = processes.start(new ProcessBuilder("true"));
        ended.await();
        CommandRun run = run(asNobody(checkoutLockedBy(ended.pid())));
        assertThat(run.status()).isEqualTo(1);
        assertThat(run.err())
                .endsWith(" is left from process " + ended.pid()
                        + " of user root, which has ended; let that user remove it\n")
                .hasLineCount(1);
    }

    /** Makes a checkout that all may read, with a lock of this user for a process. */
    private Path checkoutLockedBy(long process) throws IOException, InterruptedException {
        assumeTrue(System.getProperty("user.name").equals("root"), "only root can play another user");
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xr-x"));
        Path copy = checkout("exit 1");
        Path lock = Files.createDirectories(copy.resolveSibling("cli/target/launcher.lock"));
        Files.writeString(lock.resolve("pid"), process + "\n");
        return copy;
    }

    private ProcessBuilder asNobody(Path banyan) {
        return builder("setpriv", "--reuid=65534", "--clear-groups", banyan.toString(), "--version");
    }

    @Test
    void jdkThatIsTooOldOrNoneIsNamed() throws Exception {
        ProcessBuilder builder = builder(launcher.toString(), "--version");
        builder.environment().put("BANYAN_JAVA_HOME", folder.toString());
        CommandRun run = run(builder);
        assertThat(run.status()).isEqualTo(1);
        assertThat(run.err())
                .startsWith("banyan: BANYAN_JAVA_HOME=" + folder + " is no JDK 25")
                .hasLineCount(1);
    }

    /** The driver's stand-in of the module nvml-probe, found by the loader as the real one is. */
    @Test
    void probeFindsTheDriverWhereTheLoaderDoes() throws Exception {
        Path tests = launcher.resolveSibling("nvml-probe/src/test");
        Path library = folder.resolve("libnvidia-ml.so.1");
        CommandRun gcc;
        try {
            gcc = run(
                    "gcc",
                    "-shared",
                    "-fPIC",
                    "-o",
                    library.toString(),
                    tests.resolve("native/nvml_stand_in.c").toString(),
                    "-ldl");
        } catch (IOException e) {
            assumeTrue(false, "there is no gcc to build the stand-in for NVML with (" + e.getMessage() + ")");
            return;
        }
        assertThat(gcc.status()).as(gcc.err()).isZero();
        Files.copy(tests.resolve("resources/dev/banyan/nvml/p3.16xlarge.txt"), folder.resolve("machine.txt"));
        ProcessBuilder builder = builder(launcher.toString(), "probe", "--output", "machine.xml");
        builder.environment().put("LD_LIBRARY_PATH", folder.toString());
        CommandRun probe = run(builder);
        assertThat(probe.status()).as(probe.err()).isZero();
        assertThat(probe.err())
                .startsWith("warning: the driver grants no peer access")
                .hasLineCount(1);
        assertThat(probe.out()).startsWith("# this machine, found by nvml").contains("# 8x Tesla V100-SXM2-16GB");
        CommandRun preset = CommandRun.of("topo --machine p3.16xlarge --format json");
        CommandRun read = CommandRun.of("topo --machine " + folder.resolve("machine.xml") + " --format json");
        assertThat(new ObjectMapper().readTree(read.out()).findValues("gbs"))
                .as(read.toString())
                .isEqualTo(new ObjectMapper().readTree(preset.out()).findValues("gbs"));
    }

    @Test
    void benchSpansTheProcessesOfMpirun() throws Exception {
        Processes.requireMpi();
        ProcessBuilder builder = processes.mpirun(
                2,
                List.of(),
                List.of(
                        launcher.toString(),
                        "bench",
                        "--kvstore",
                        "concum",
                        "--workload",
                        "lenet-5",
                        "--compute-ms",
                        "2",
                        "--local-devices",
                        "2",
                        "-n",
                        "1",
                        "--format",
                        "json"));
        CommandRun run = run(prepared(builder));
        assertThat(run.status()).as(run.err()).isZero();
        JsonNode rows = new ObjectMapper().readTree(run.out()).get("rows");
        assertThat(rows.findValuesAsText("kvstore")).containsExactly("concum", "funnel", "depcha");
        for (JsonNode row : rows) {
            assertThat(row.get("processes").asInt()).isEqualTo(2);
            assertThat(row.get("localDevices").asInt()).isEqualTo(2);
            assertThat(row.get("wrong").asLong()).isZero();
            assertThat(row.get("stepMs").asDouble()).isGreaterThanOrEqualTo(2);
        }
    }

    @Test
    void benchWithoutMpiNamesTheRemedy() throws Exception {
        ProcessBuilder builder = builder(
                launcher.toString(), "bench", "--kvstore", "depcha", "--workload", "lenet-5", "--compute-ms", "2");
        builder.environment().put("BANYAN_MPI_LIBRARY", "nowhere.so");
        CommandRun run = run(builder);
        assertThat(run.status()).isEqualTo(1);
        assertThat(run.err())
                .contains("banyan: BANYAN_MPI_LIBRARY=nowhere.so is no file; name Open MPI's libmpi.so.40 or unset it");
    }

    private CommandRun run(String... command) throws IOException, InterruptedException {
        return run(builder(command));
    }

    private ProcessBuilder builder(String... command) {
        return prepared(new ProcessBuilder(command));
    }

    private ProcessBuilder prepared(ProcessBuilder builder) {
        builder.directory(folder.toFile());
        // The JDK of the tests, wherever it is.
        builder.environment().put("BANYAN_JAVA_HOME", System.getProperty("java.home"));
        Stream.of("JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "BANYAN_NVML_LIBRARY")
                .forEach(builder.environment()::remove);
        return builder;
    }

    private CommandRun run(ProcessBuilder builder) throws IOException, InterruptedException {
        TestProcess process = processes.start(builder);
        return new CommandRun(process.await(), process.out(), process.err());
    }
}
