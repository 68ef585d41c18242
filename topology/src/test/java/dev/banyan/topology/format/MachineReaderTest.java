package dev.banyan.topology.format;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.banyan.InputException;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class MachineReaderTest {
    private final MachineReader reader = new MachineReader();

    @TempDir
    Path folder = Path.of("");

    private Path file(byte[] bytes) throws IOException {
        return Files.write(folder.resolve("box.txt"), bytes);
    }

    private void assertRefused(Path file, String reason) {
        assertThatThrownBy(() -> reader.read(file))
                .isInstanceOf(InputException.class)
                .hasMessageStartingWith(file + ":")
                .hasMessageContaining(reason);
    }

    @ParameterizedTest
    @ValueSource(strings = {"UTF-8", "UTF-16LE", "UTF-16BE"})
    void readsEncodingsWithAMark(String charset) throws IOException {
        String text = "\uFEFF" + Fixtures.FOUR_WITH_CARDS.replace("\n", "\r\n");

        assertThat(reader.read(file(text.getBytes(Charset.forName(charset))))).satisfies(machine -> {
            assertThat(machine.size()).isEqualTo(4);
            assertThat(machine.name()).isEqualTo("box.txt");
        });
    }

    @Test
    void refusesWhatIsNoTextFile() throws IOException {
        assertRefused(folder, "is a folder");
        assertRefused(folder.resolve("none.txt"), "there is no such file");
        assertRefused(file(new byte[] {'0', 0, '1'}), "NUL bytes");
        assertRefused(file("0 1\n1 0".getBytes(StandardCharsets.UTF_16LE)), "NUL bytes");
        assertRefused(file(new byte[0]), "is empty");
        assertRefused(file("\n \n".getBytes(StandardCharsets.UTF_8)), "is empty");
    }

    @Test
    void refusesWhatIsTooLarge() throws IOException {
        Path large = folder.resolve("large.txt");
        try (RandomAccessFile file = new RandomAccessFile(large.toFile(), "rw")) {
            file.setLength(MachineReader.MAX_BYTES + 1L);
        }

        assertRefused(large, "larger than 16 MiB");
    }

    @Test
    void saysWhatItReadsWhereNothingFits() throws IOException {
        assertRefused(
                file("\nHello, world\n".getBytes(StandardCharsets.UTF_8)),
                "begins with \"Hello, world\"; Banyan reads");
        assertRefused(file("\033[31mred\n".getBytes(StandardCharsets.UTF_8)), "begins with \"?[31mred\"");
        assertRefused(file("size,time\n1,2\n".getBytes(StandardCharsets.UTF_8)), "nvidia-smi topo -m");
    }

    @Test
    void refusesWhatNeverEnds() throws IOException {
        Path zero = Path.of("/dev/zero");
        assumeTrue(Files.exists(zero), "needs /dev/zero");

        assertRefused(zero, "is a device");
        assertThatThrownBy(() -> reader.read("stdin", Files.newInputStream(zero)))
                .isInstanceOf(InputException.class)
                .hasMessage("stdin: it is larger than 16 MiB");
        assertRefused(file("\n".repeat(1_000_000).getBytes(StandardCharsets.UTF_8)), "has more than 200000 lines");
    }
}
