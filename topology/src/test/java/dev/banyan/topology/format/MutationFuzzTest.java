package dev.banyan.topology.format;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import dev.banyan.InputException;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Presets;
import dev.banyan.topology.internal.text.Token;
import dev.banyan.topology.option.MatrixUnit;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Mutated descriptions are read or refused: no other exception. Add a sample to {@link
 * Fixtures#all()}, or a folder to {@link #FOLDERS}, to have it mutated too.
 */
class MutationFuzzTest {
    private static final List<String> FOLDERS = List.of("topo_m", "nvlink", "p2p", "xml", "xml/rccl", "xml_partial");
    private static final long SEED = 20_260_101;
    private static final int TRIPS_EVERY = 4;

    private static final String[] PIECES = {
        "GPU0",
        "GPU1",
        "GPU99999",
        " X ",
        "NV1",
        "NV18",
        "NV999",
        "PIX",
        "SYS",
        "NIC0",
        "CPU Affinity",
        "NUMA Affinity",
        "Legend:",
        "0",
        "1",
        "2",
        "3",
        "-1",
        "1e308",
        "1e999",
        "NaN",
        "v",
        ".",
        "-",
        "|",
        "[",
        "]",
        "{",
        "}",
        "<",
        ">",
        "\"",
        "&",
        "/",
        ";",
        "#",
        ",",
        " ",
        "\t",
        "\t\t",
        "\n",
        "\r\n",
        "\n\n",
        "\033[4m",
        "\033[0m",
        "\uFEFF",
        "\0",
        "\u20AC",
        "busid=\"0000:06:00.0\"",
        "count=\"1\"",
        "count=\"-1\"",
        "tclass=\"0x068000\"",
        "<gpu>",
        "</gpu>",
        "<cpu>",
        "<pci>",
        "</pci>",
        "<nvlink/>",
        "<!DOCTYPE x>",
        "<!--",
        "-->",
        "&amp;",
        "&lt;",
        "&x;",
        "null",
        "{}",
        "[]",
        "\"a\": 0,",
        "\"lanes\": 99999999999",
        "1e400",
        ":"
    };

    private static List<String> samples() throws IOException {
        List<String> samples = new ArrayList<>(Fixtures.all());
        for (Machine preset : Presets.all()) {
            samples.add(MachineWriter.write(preset, "json"));
            samples.add(MachineWriter.write(preset, "nccl-xml"));
        }
        Path corpus = Path.of(System.getProperty("banyan.shared", "."), "corpus");
        for (String folder : FOLDERS) {
            if (Files.isDirectory(corpus.resolve(folder))) {
                try (Stream<Path> files = Files.list(corpus.resolve(folder))) {
                    for (Path file : files.filter(Files::isRegularFile).sorted().toList()) {
                        samples.add(new String(Files.readAllBytes(file), StandardCharsets.UTF_8));
                    }
                }
            }
        }
        return samples;
    }

    @Test
    void readsOrRefusesMutatedDescriptions() throws IOException {
        readOrRefuse(4_000);
    }

    @Test
    @Tag("soak")
    void readsOrRefusesManyMutatedDescriptions() throws IOException {
        readOrRefuse(30_000);
    }

    private static void readOrRefuse(int rounds) throws IOException {
        List<String> samples = samples();
        Random random = new Random(SEED);
        MachineReader[] readers = {new MachineReader(), new MachineReader(MatrixUnit.GBS)};
        int read = 0;
        int refused = 0;
        for (int round = 0; round < rounds; round++) {
            StringBuilder text = new StringBuilder(samples.get(random.nextInt(samples.size())));
            int mutations = 1 + random.nextInt(4);
            for (int i = 0; i < mutations; i++) {
                mutate(text, samples, random);
            }
            if (accepts(readers[random.nextInt(readers.length)], text.toString(), round)) {
                read++;
            } else {
                refused++;
            }
        }
        assertThat(read).as("some mutations are harmless").isGreaterThan(rounds / 100);
        assertThat(refused).as("some mutations are noticed").isGreaterThan(rounds / 100);
    }

    private static boolean accepts(MachineReader reader, String text, int round) {
        try {
            Machine machine = reader.parse("fuzz", text);
            LinkMatrix matrix = LinkMatrix.of(machine);
            assertThat(matrix.size()).isEqualTo(machine.size());
            if (round % TRIPS_EVERY == 0) {
                String json = MachineWriter.write(machine, "json");
                assertThat(reader.parse("json", json))
                        .as("after a trip through JSON")
                        .isEqualTo(machine);
                writesXmlOrSaysWhyNot(reader, machine);
            }
            return true;
        } catch (InputException e) {
            assertThat(e.getMessage()).startsWith("fuzz:").doesNotContain("\n");
            return false;
        } catch (RuntimeException e) {
            return fail("round " + round + " of seed " + SEED + " failed on:\n" + text, e);
        }
    }

    private static void writesXmlOrSaysWhyNot(MachineReader reader, Machine machine) {
        String xml;
        try {
            xml = MachineWriter.write(machine, "nccl-xml");
        } catch (IllegalArgumentException e) {
            assertThat(e).hasMessageContaining("write JSON instead");
            return;
        }
        assertThat(reader.parse("xml", xml).size()).isEqualTo(machine.size());
    }

    private static void mutate(StringBuilder text, List<String> samples, Random random) {
        int length = text.length();
        int at = random.nextInt(length + 1);
        int end = Math.min(length, at + 1 + random.nextInt(1 + random.nextInt(40)));
        switch (random.nextInt(10)) {
            case 0 -> text.delete(at, end);
            case 1 -> text.insert(at, text.substring(at, end));
            case 2 -> text.insert(at, PIECES[random.nextInt(PIECES.length)]);
            case 3 -> text.replace(at, end, PIECES[random.nextInt(PIECES.length)]);
            case 4 -> text.setLength(at);
            case 5 -> {
                if (at < length) {
                    text.setCharAt(at, (char) (1 + random.nextInt(127)));
                }
            }
            case 6 -> deleteLine(text, at);
            case 7 -> text.insert(at, PIECES[random.nextInt(PIECES.length)].repeat(1 + random.nextInt(200)));
            case 8 -> text.append(samples.get(random.nextInt(samples.size())));
            default -> swapWords(text, random);
        }
    }

    private static void deleteLine(StringBuilder text, int at) {
        int begin = text.lastIndexOf("\n", at) + 1;
        int end = text.indexOf("\n", at);
        if (begin <= at) {
            text.delete(begin, end < 0 ? text.length() : end + 1);
        }
    }

    private static void swapWords(StringBuilder text, Random random) {
        List<Token> words = Token.words(text.toString());
        if (words.size() > 1) {
            Token word = words.get(random.nextInt(words.size()));
            String other = words.get(random.nextInt(words.size())).text();
            text.replace(word.column() - 1, word.column() - 1 + word.text().length(), other);
        }
    }
}
