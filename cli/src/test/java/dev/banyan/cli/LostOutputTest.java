package dev.banyan.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Output that gets lost is a failure; the device full refuses every byte, as a full disk does. */
class LostOutputTest {
    private static final Path FULL = Path.of("/dev/full");

    @TempDir
    private Path folder;

    @BeforeEach
    void find() {
        assumeTrue(Files.exists(FULL), "this system has no " + FULL);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "--version",
                "--help",
                "topo --machine dgx-2",
                "topo --machine dgx-2 --format json",
                "topo --machine dgx-2 --write json",
                "trees --machine p3.8xlarge",
                "trees --machine p3.8xlarge -a packing --format svg",
                "bound --machine p3.8xlarge",
                "settings",
                "bench --machine p3.8xlarge -b 8 -e 8 -n 1 -w 0 --format json",
                "bench --machine p3.8xlarge -b 8 -e 8 -n 1 -w 0"
            })
    void standardOutputIsChecked(String arguments) throws IOException {
        StringWriter err = new StringWriter();
        int status;
        try (OutputStream full = Files.newOutputStream(FULL)) {
            status = run(full, err, arguments);
        }
        assertThat(status).isEqualTo(1);
        assertThat(err.toString().lines())
                .containsOnlyOnce("banyan: can't write to standard output (No space left on device), so that the answer"
                        + " is incomplete; make room, or send it elsewhere");
    }

    @ParameterizedTest
    @CsvSource({
        "predict --machine p3.8xlarge -b 1M -e 1M --plot, x.svg",
        "predict --machine p3.8xlarge -b 1M -e 1M -a ring --trace, x.json",
        "tune --predict --machine p3.8xlarge -b 1M -e 1M --output, x.properties",
        "page --machine PAIR --output, x.html"
    })
    void filesAreChecked(String arguments, String name) throws IOException {
        Path file = Files.createSymbolicLink(folder.resolve(name), FULL);
        Path pair = Files.writeString(folder.resolve("pair.txt"), "0 2\n2 0\n");
        CommandRun run = CommandRun.of(arguments.replace("PAIR", pair.toString()) + " " + file);
        Files.delete(file);
        assertThat(run.status()).as(run.err()).isEqualTo(1);
        assertThat(run.err().lines())
                .containsOnlyOnce("banyan: can't write " + file
                        + " (No space left on device); name a file in another folder, or make room");
    }

    @Test
    void outputThatArrivesIsASuccess() {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        StringWriter err = new StringWriter();
        assertThat(run(out, err, "topo --machine dgx-2")).isZero();
        assertThat(out.toString(StandardCharsets.UTF_8)).startsWith("# dgx-2: 16 devices");
        assertThat(err.toString()).isEmpty();
    }

    @Test
    void readerThatGoesAwayIsNoFailure() {
        StringWriter err = new StringWriter();
        OutputStream gone = new OutputStream() {
            @Override
            public void write(int one) throws IOException {
                throw new IOException("Broken pipe");
            }
        };
        assertThat(run(gone, err, "topo --machine dgx-2")).isZero();
        assertThat(err.toString()).isEmpty();
    }

    @Test
    void statusOfAFailureStays() throws IOException {
        StringWriter err = new StringWriter();
        try (OutputStream full = Files.newOutputStream(FULL)) {
            assertThat(run(full, err, "topo --machine none")).isEqualTo(2);
        }
        assertThat(err.toString()).doesNotContain("standard output");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "tune --predict --machine p3.8xlarge --output",
                "predict --machine p3.8xlarge -a ring --trace",
                "calibrate --from pom.xml --output",
                "validate --sweeps pom.xml --report",
                "trace timeline pom.xml --output",
                "trace run --output traces --timeline",
                "page --machine p3.8xlarge --output"
            })
    void missingFoldersAreRefusedBeforeTheWork(String arguments) {
        Path file = folder.resolve("missing/file.json");
        CommandRun run = CommandRun.of(arguments + " " + file);
        assertThat(run.status()).as(run.err()).isEqualTo(2);
        assertThat(run.err())
                .startsWith("banyan: ")
                .contains("there is no folder " + file.getParent() + " for file.json; make it first");
        assertThat(run.out()).isEmpty();
    }

    private static int run(OutputStream out, StringWriter err, String arguments) {
        return BanyanCommand.run(out, new PrintWriter(err, true), arguments.split(" ", -1));
    }
}
