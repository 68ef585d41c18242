package dev.banyan.reduce.internal.processes;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.banyan.config.Config;
import dev.banyan.test.Processes;
import dev.banyan.test.TestProcess;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Another user of the machine can do nothing to a job. Only root can play two users. */
@EnabledOnOs(OS.LINUX)
class OtherUserTest {
    private static final int NOBODY = 65534;
    private static final Path SETPRIV = Path.of("/usr/bin/setpriv");
    private static final long LONG = TimeUnit.MINUTES.toNanos(15);
    /** The length of the control block of two processes. */
    private static final long BYTES = 3 * 4096;

    private static final String CONTENT = "only root writes this\n";

    @RegisterExtension
    private final Processes processes = new Processes();

    @TempDir
    private Path folder;

    @BeforeEach
    void needsRoot() throws IOException {
        assumeTrue(System.getProperty("user.name").equals("root"), "only root can play another user");
        assumeTrue(Files.isExecutable(SETPRIV), "needs setpriv");
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xr-x"));
    }

    @Test
    void sharedMemoryIsOfOneUser() throws IOException, InterruptedException {
        try (SharedMemory memory = SharedMemory.create("banyan-test", 4096)) {
            memory.memory().set(ValueLayout.JAVA_LONG, 0, 42);
            String path = "/proc/" + ProcessHandle.current().pid() + "/fd/" + memory.descriptor();
            assertThat(exitOf("head", "-c", "1", path)).isZero();
            assertThat(exitOf(asNobody("head", "-c", "1", path))).isNotZero();
            ProcessId own = ProcessId.own();
            try (SharedMemory again = SharedMemory.open(own, memory.descriptor(), 4096)) {
                assertThat(again.memory().get(ValueLayout.JAVA_LONG, 0)).isEqualTo(42);
            }
        }
    }

    private int exitOf(String... command) throws IOException, InterruptedException {
        return processes.start(new ProcessBuilder(command)).await();
    }

    private static String[] asNobody(String... command) {
        List<String> all = new ArrayList<>(List.of(SETPRIV.toString(), "--reuid=" + NOBODY, "--clear-groups"));
        all.addAll(List.of(command));
        return all.toArray(String[]::new);
    }

    @ParameterizedTest
    @ValueSource(ints = {7, 8, 9, 10, 11, 12, 13, 14})
    void aProcessOfAnotherUserNamesNoMemory(int descriptor) throws Exception {
        Path file = rootFile();
        ProcessId holder = holder(asNobody(holderProgram(), file.toString(), Long.toString(BYTES)));
        assertThatThrownBy(() -> SharedMemory.open(holder, descriptor, BYTES))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("process " + holder.pid() + " belongs to user nobody");
        assertUnchanged(holder, file);
    }

    @Test
    void aProcessOfThisUserNamesNothingButMemoryOfAJob() throws Exception {
        Path file = rootFile();
        ProcessId holder = holder(holderProgram(), file.toString(), Long.toString(BYTES));
        assertRefused(holder, 7, "names " + file.toRealPath() + " of user root");
        assertRefused(holder, 8, "names pipe:[");
        assertRefused(holder, 9, "names socket:[");
        assertRefused(holder, 11, "names /memfd:banyan-control (deleted) of user nobody");
        assertRefused(holder, 12, "memory whose length may change");
        assertRefused(holder, 13, "shares 0 bytes where this process expects " + BYTES);
        assertRefused(holder, 14, "names /memfd:other (deleted) of user root");
        assertRefused(holder, 99, "has closed its memory");
        assertUnchanged(holder, file);
        try (SharedMemory memory = SharedMemory.open(holder, 10, BYTES)) {
            assertThat(memory.memory().byteSize()).isEqualTo(BYTES);
        }
    }

    private static void assertRefused(ProcessId holder, int descriptor, String message) {
        assertThatThrownBy(() -> SharedMemory.open(holder, descriptor, BYTES))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("process " + holder.pid())
                .hasMessageContaining(message);
    }

    /** Returns a file that others may read. */
    private Path rootFile() throws IOException {
        return Files.writeString(folder.resolve("of-root"), CONTENT);
    }

    private static void assertUnchanged(ProcessId holder, Path file) throws IOException {
        assertThat(file).hasContent(CONTENT);
        assertThat(Path.of("/proc/" + holder.pid() + "/fd/13")).isEmptyFile();
        for (int memory : new int[] {10, 11, 12, 14}) {
            assertThat(Files.readAllBytes(Path.of("/proc/" + holder.pid() + "/fd/" + memory)))
                    .isEqualTo(new byte[(int) BYTES]);
        }
    }

    private String holderProgram() throws IOException, InterruptedException {
        Path source = folder.resolve("holder.c");
        try (InputStream text = Objects.requireNonNull(OtherUserTest.class.getResourceAsStream("holder.c"))) {
            Files.copy(text, source);
        }
        assumeTrue(exitOf("sh", "-c", "command -v gcc") == 0, "there is no gcc to build the other user's program with");
        Path program = folder.resolve("holder");
        assertThat(exitOf("gcc", "-o", program.toString(), source.toString())).isZero();
        return program.toString();
    }

    private ProcessId holder(String... command) throws IOException, InterruptedException {
        TestProcess holder = processes.start(new ProcessBuilder(command));
        holder.awaitLine("ready");
        String description = Files.readString(Path.of("/proc/" + holder.pid() + "/stat"), StandardCharsets.ISO_8859_1);
        String[] fields =
                description.substring(description.lastIndexOf(')') + 2).split(" ", -1);
        return new ProcessId(holder.pid(), Long.parseLong(fields[19]));
    }

    private Path folderOfNobody() throws IOException {
        Path made = Files.createDirectory(folder.resolve("of-nobody"));
        Files.setAttribute(made, "unix:uid", NOBODY);
        return made;
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void aFolderOfAnotherUserIsRefused(int process) throws IOException {
        Path foreign = folderOfNobody();
        assertThatThrownBy(() -> join(process, foreign))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("the rendezvous " + foreign + " belongs to user nobody; set BANYAN_RENDEZVOUS");
        assertThat(foreign).isEmptyDirectory();
    }

    @Test
    void aDefaultFolderOfAnotherUserIsRefused() throws IOException {
        JobPlace place = JobPlace.find(
                Config.defaults(),
                Map.of(
                        "LOCAL_RANK", "1",
                        "LOCAL_WORLD_SIZE", "2",
                        "TORCHELASTIC_RUN_ID", folder.toString()));
        Path foreign = Files.createDirectory(Path.of(place.meeting()));
        try {
            Files.setAttribute(foreign, "unix:uid", NOBODY);
            assertThatThrownBy(() -> Job.join(place, 1, "", LONG))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("the rendezvous " + foreign + " belongs to user nobody");
        } finally {
            Files.delete(foreign);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void aLinkIsRefused(int process) throws IOException {
        Path own = Files.createDirectory(folder.resolve("own"));
        Path link = Files.createSymbolicLink(folder.resolve("link"), own);
        Files.setAttribute(link, "unix:uid", NOBODY, LinkOption.NOFOLLOW_LINKS);
        assertThatThrownBy(() -> join(process, link))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("the rendezvous " + link + " is a link of user nobody; set BANYAN_RENDEZVOUS");
        assertThat(own).isEmptyDirectory();
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void aFolderThatOthersMayWriteToIsRefused(int process) throws IOException {
        Path open = Files.createDirectory(folder.resolve("open"));
        Files.setPosixFilePermissions(open, PosixFilePermissions.fromString("rwxrwxrwx"));
        assertThatThrownBy(() -> join(process, open))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining(
                        "other users may write to the rendezvous " + open + "; take that right from them");
        assertThat(open).isEmptyDirectory();
    }

    @Test
    void aFolderThatChangesHandsIsRefused() throws Exception {
        joinWhileAFolderChangesHands(10);
    }

    @Test
    @Tag("soak")
    void aFolderThatChangesHandsIsRefusedAThousandTimes() throws Exception {
        joinWhileAFolderChangesHands(1_000);
    }

    /** Another user puts a folder in place of one of this user, again and again, and announces a file of this user. */
    private void joinWhileAFolderChangesHands(int joins) throws Exception {
        Path file = rootFile();
        ProcessId holder = holder(asNobody(holderProgram(), file.toString(), Long.toString(BYTES)));
        Path foreign = folderOfNobody();
        Path announced =
                Files.createFile(foreign.resolve(new Announcement(Announcement.ownNamespace(), holder, 7).fileName()));
        Files.setAttribute(announced, "unix:uid", NOBODY);
        Path own = Files.createDirectory(folder.resolve("own"));
        Files.createFile(own.resolve(
                new Announcement(Announcement.ownNamespace(), new ProcessId(999_999_999, 5), 7).fileName()));
        Path job = folder.resolve("job");
        AtomicBoolean done = new AtomicBoolean();
        Thread other = Thread.ofPlatform().start(() -> {
            while (!done.get()) {
                replace(own, job);
                replace(foreign, job);
            }
        });
        try {
            for (int i = 0; i < joins; i++) {
                assertThatThrownBy(() -> join(1, job))
                        .as("join %d", i)
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("the rendezvous " + job + " belongs to user nobody");
            }
        } finally {
            done.set(true);
            other.join();
        }
        assertUnchanged(holder, file);
        assertThat(foreign.resolve(announced.getFileName())).exists();
    }

    /** Shows a folder at a path, and takes it away. */
    private static void replace(Path shown, Path path) {
        try {
            Files.move(shown, path, StandardCopyOption.ATOMIC_MOVE);
            Thread.yield();
            Files.move(path, shown, StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private static void join(int process, Path folder) {
        Job.join(new JobPlace(process, 2, folder.toString()), 1, "", LONG).close();
    }

    /** This process, which the other one may not look into, has made the job. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "--regid=65534 --clear-groups | it belongs to groups [0, 0, 0, 0] and this process to group 65534; run",
                "--clear-groups | it has capabilities that this process lacks; give all",
            })
    void theReasonForWhichTheKernelRefusesMemoryIsNamed(String rights, String reason) throws Exception {
        Path job = folder.resolve("job");
        List<String> command = new ArrayList<>(List.of(SETPRIV.toString(), "--bounding-set=-all", "--inh-caps=-all"));
        command.addAll(List.of(rights.split(" ", -1)));
        command.addAll(Processes.java(List.of(), JoiningProgram.class.getName(), "1", "2", job.toString()));
        try (FolderMeeting meeting = new FolderMeeting(new JobPlace(0, 2, job.toString()));
                SharedMemory _ = meeting.open(System.nanoTime())) {
            assertThat(processes.start(new ProcessBuilder(command)).lastLine())
                    .startsWith("failed: the memory of " + ProcessId.own() + " cannot be opened, as " + reason);
        }
    }

    /** Processes see only those of their own user. */
    @Test
    void processesJoinWhereTheKernelHidesOtherUsers() throws Exception {
        String hide = "mount -t proc -o hidepid=2,gid=" + NOBODY + " proc /proc";
        assumeTrue(exitOf("unshare", "--mount", "sh", "-c", hide) == 0, "needs the right to mount");
        List<TestProcess> started = new ArrayList<>();
        for (int process = 0; process < 2; process++) {
            List<String> command = new ArrayList<>(List.of(
                    "unshare",
                    "--mount",
                    "sh",
                    "-c",
                    hide + " && ! [ -e /proc/$0 ] && exec setpriv --bounding-set=-all --inh-caps=-all \"$@\"",
                    "none"));
            command.addAll(Processes.java(
                    List.of(), JoiningProgram.class.getName(), Integer.toString(process), "2", folder + "/job"));
            started.add(processes.start(new ProcessBuilder(command)));
        }
        for (TestProcess each : started) {
            assertThat(each.lastLine()).startsWith("joined");
        }
    }
}
