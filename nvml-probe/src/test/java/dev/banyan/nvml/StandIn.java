package dev.banyan.nvml;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.banyan.topology.Machine;
import dev.banyan.topology.MachineProbe;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;

/** A library in a folder of its own that plays a machine; see nvml_stand_in.c for how machines are described. */
final class StandIn {
    /** By compiler options. */
    private static final Map<List<String>, byte[]> BUILT = new ConcurrentHashMap<>();

    private final Path folder;
    private final Path library;

    private StandIn(Path folder, Path library) {
        this.folder = folder;
        this.library = library;
    }

    /**
     * A call that the library got.
     *
     * @param device index of the (first) device, or -1
     * @param link index of the NVLink, or -1
     * @param code what it returned
     */
    record Call(String function, int device, int link, int code) {}

    /** Builds the library; skips the test, saying so, where there is no C compiler. */
    static StandIn in(Path folder, String... options) {
        Path library = folder.resolve("libnvidia-ml.so.1");
        try {
            // A copy per folder: the loader knows libraries by their files.
            Files.write(library, BUILT.computeIfAbsent(List.of(options), key -> build(folder, options)));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return new StandIn(folder, library);
    }

    private static byte[] build(Path folder, String... options) {
        Path source = Path.of(Objects.requireNonNull(System.getProperty("banyan.nvml.standin")));
        try {
            return Files.readAllBytes(compile(source, folder.resolve("built.so"), options));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Compiles C to a shared library; skips the test, saying so, where there is no compiler. */
    static Path compile(Path source, Path library, String... options) {
        List<String> command = new ArrayList<>(List.of(
                "gcc",
                "-shared",
                "-fPIC",
                "-Wall",
                "-Wextra",
                "-Werror",
                "-fvisibility=hidden",
                "-o",
                library.toString(),
                source.toString()));
        command.addAll(List.of(options));
        command.add("-ldl");
        try {
            Process gcc = start(command);
            String output = new String(gcc.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            if (gcc.waitFor() != 0) {
                throw new AssertionError("gcc failed: " + output);
            }
            return library;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(e);
        }
    }

    private static Process start(List<String> command) {
        try {
            return new ProcessBuilder(command).redirectErrorStream(true).start();
        } catch (IOException e) {
            assumeTrue(false, "there is no gcc to build the stand-in for NVML with (" + e.getMessage() + ")");
            throw new AssertionError(e);
        }
    }

    /** Makes it play another machine, and forget its calls. */
    StandIn play(String description) {
        try {
            Files.writeString(folder.resolve("machine.txt"), description);
            Files.deleteIfExists(folder.resolve("calls.txt"));
            return this;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The description of a machine among the resources. */
    static String machine(String name) {
        try (InputStream in = Objects.requireNonNull(StandIn.class.getResourceAsStream(name + ".txt"), name)) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns the answer of the probe; Linux's own files on PCI devices are looked for in the folder. */
    MachineProbe.Answer probe() {
        return new NvmlProbe(library.toString(), new LinuxFiles(folder)).probe();
    }

    Machine found() {
        MachineProbe.Answer answer = probe();
        assertThat(answer).isInstanceOf(MachineProbe.Found.class);
        return ((MachineProbe.Found) answer).machine();
    }

    /** The reason of a probe that finds nothing it can use. */
    String unusable() {
        MachineProbe.Answer answer = probe();
        assertThat(answer).isInstanceOf(MachineProbe.Unusable.class);
        return ((MachineProbe.Unusable) answer).reason();
    }

    String absent() {
        MachineProbe.Answer answer = probe();
        assertThat(answer).isInstanceOf(MachineProbe.Absent.class);
        return ((MachineProbe.Absent) answer).reason();
    }

    List<Call> calls() {
        Path log = folder.resolve("calls.txt");
        if (!Files.exists(log)) {
            return List.of();
        }
        try (var lines = Files.lines(log)) {
            return lines.map(line -> line.split(" "))
                    .map(word -> new Call(
                            word[0], Integer.parseInt(word[1]), Integer.parseInt(word[2]), Integer.parseInt(word[3])))
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
