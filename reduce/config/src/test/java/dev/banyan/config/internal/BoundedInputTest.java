package dev.banyan.config.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class BoundedInputTest {
    private static final BoundedInput SMALL = new BoundedInput(100, 10);

    @TempDir
    Path folder = Path.of("");

    private Path file(byte[] bytes) throws IOException {
        return Files.write(folder.resolve("input"), bytes);
    }

    private static void assertRefused(Path file, String reason) {
        assertThatThrownBy(() -> SMALL.text(file))
                .isInstanceOf(UnreadableFileException.class)
                .hasMessage(reason);
    }

    @Test
    void readsUpToTheLimits() throws IOException {
        assertThat(SMALL.text(file(new byte[0]))).isEmpty();
        assertThat(SMALL.text(file("é".repeat(50).getBytes(StandardCharsets.UTF_8))))
                .isEqualTo("é".repeat(50));
        assertThat(SMALL.text(file("\n".repeat(10).getBytes(StandardCharsets.UTF_8))))
                .hasSize(10);
        assertThat(BoundedInput.USUAL.text(file("x".repeat(200_000).getBytes(StandardCharsets.UTF_8))))
                .hasSize(200_000);
        assertThat(SMALL.bytes(new ByteArrayInputStream(new byte[100]))).hasSize(100);
    }

    @Test
    void readsTextWithAByteOrderMark() throws IOException {
        assertThat(SMALL.text(file("\uFEFFab".getBytes(StandardCharsets.UTF_8))))
                .isEqualTo("ab");
        assertThat(SMALL.text(file("\uFEFFab".getBytes(StandardCharsets.UTF_16LE))))
                .isEqualTo("ab");
        assertThat(SMALL.text(file("\uFEFFab".getBytes(StandardCharsets.UTF_16BE))))
                .isEqualTo("ab");
    }

    @Test
    void refusesMoreThanTheLimits() throws IOException {
        assertRefused(file(new byte[101]), "it is larger than 100 bytes");
        assertRefused(file("\n".repeat(11).getBytes(StandardCharsets.UTF_8)), "it has more than 10 lines");
        assertThatThrownBy(() -> new BoundedInput(1 << 20, 10).bytes(new ByteArrayInputStream(new byte[2 << 20])))
                .hasMessage("it is larger than 1 MiB");
    }

    @Test
    void refusesWhatIsNoFileOfText() throws IOException {
        assertRefused(folder, "this is a folder; name a file in it");
        assertRefused(folder.resolve("none"), "there is no such file");
        assertRefused(file(new byte[] {(byte) 0xFF}), "it is not text in UTF-8");
    }

    @Test
    void refusesDevices() {
        Path zero = Path.of("/dev/zero");
        assumeTrue(Files.exists(zero), "needs /dev/zero");

        assertRefused(zero, "this is a device; save its contents in a file and name that one");
    }
}
