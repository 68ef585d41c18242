package dev.banyan.reduce.internal.processes;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.reduce.backend.CollectiveTimeoutException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

@EnabledOnOs(OS.LINUX)
class MeetingFolderTest {
    private static final Announcement MADE = new Announcement(5, new ProcessId(17, 4), 9);

    @TempDir
    private Path folder;

    private MeetingFolder opened(Path path) {
        return Objects.requireNonNull(MeetingFolder.open(path));
    }

    @Test
    void aFolderThatAJobHasMadeIsOfThisUserAloneAndGoes() throws IOException {
        Path made = folder.resolve("a/b");
        MeetingFolder.make(made);
        assertThat(Files.getPosixFilePermissions(made)).isEqualTo(PosixFilePermissions.fromString("rwx------"));
        try (MeetingFolder here = opened(made)) {
            assertThat(here.add(MADE)).isTrue();
            here.removeIfMade();
            assertThat(here.read()).containsExactly(MADE);
            here.remove(MADE);
            here.removeIfMade();
        }
        assertThat(made).doesNotExist();
    }

    @Test
    void aFolderOfTheUserStaysWithItsFiles() throws IOException {
        Path own = Files.createDirectory(folder.resolve("own"));
        Path file = Files.createFile(own.resolve("errors-0"));
        MeetingFolder.make(own);
        try (MeetingFolder here = opened(own)) {
            assertThat(here.read()).isEmpty();
            Files.delete(file);
            here.removeIfMade();
        }
        assertThat(own).isEmptyDirectory();
    }

    @Test
    void aFolderThatHasGoneHoldsNothing() throws IOException {
        Path own = Files.createDirectory(folder.resolve("own"));
        try (MeetingFolder here = opened(own)) {
            Files.delete(own);
            assertThat(here.read()).isEmpty();
            assertThat(here.add(MADE)).isFalse();
        }
        assertThat(MeetingFolder.open(own)).isNull();
    }

    @Test
    void anAnnouncementOfAnotherPidNamespaceStaysAndIsNamed() throws IOException {
        Path job = Files.createDirectory(folder.resolve("job"));
        Path foreign = Files.createFile(job.resolve(new Announcement(1, new ProcessId(999_999_999, 5), 9).fileName()));
        FolderMeeting zero = new FolderMeeting(new JobPlace(0, 2, job.toString()));
        zero.open(System.nanoTime()).close();
        zero.close();
        assertThat(job).isDirectoryContaining(foreign::equals);
        FolderMeeting one = new FolderMeeting(new JobPlace(1, 2, job.toString()));
        assertThatThrownBy(() -> one.open(System.nanoTime() - 1))
                .isInstanceOf(CollectiveTimeoutException.class)
                .hasMessage("process 999999999, which has made a job in " + job
                        + ", does not share a PID namespace with this process; start all processes of a job in one"
                        + " (containers: --pid=host)");
        one.close();
        assertThat(foreign).exists();
    }

    @Test
    void aLimitOfOpenFilesIsNamed() {
        assertThat(PinnedFile.failure(24, folder)).hasMessageContaining("raise the limit of open files");
        assertThat(PinnedFile.failure(13, folder)).isInstanceOf(AccessDeniedException.class);
    }

    @Test
    void aFileIsNoFolder() throws IOException {
        Path file = Files.createFile(folder.resolve("file"));
        assertThatThrownBy(() -> MeetingFolder.open(file))
                .isInstanceOf(UncheckedIOException.class)
                .hasMessageContaining("the rendezvous " + file + " cannot be read");
    }
}
