package dev.banyan.reduce.internal.processes;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.UncheckedIOException;
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
    private static final Announcement MADE = new Announcement(new ProcessId(17, 4), 9);

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
    void aFileIsNoFolder() throws IOException {
        Path file = Files.createFile(folder.resolve("file"));
        assertThatThrownBy(() -> MeetingFolder.open(file))
                .isInstanceOf(UncheckedIOException.class)
                .hasMessageContaining("the rendezvous " + file + " cannot be read");
    }
}
