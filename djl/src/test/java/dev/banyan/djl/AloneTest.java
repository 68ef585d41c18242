package dev.banyan.djl;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.test.TestProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** One process on one device, with Banyan on the class path and without. */
class AloneTest {
    @RegisterExtension
    private final dev.banyan.test.Processes processes = new dev.banyan.test.Processes();

    @TempDir
    private Path folder;

    @Test
    void trainsExactlyAsWithoutBanyan() throws Exception {
        String with = System.getProperty("java.class.path");
        String without = Pattern.compile(":")
                .splitAsStream(with)
                .filter(entry -> !Path.of(entry).endsWith("djl/target/classes"))
                .collect(Collectors.joining(":"));
        assertThat(without).isNotEqualTo(with);
        List<String> plain = train(without, "plain");
        assertThat(train(with, "hooked")).isEqualTo(plain);
        assertThat(lines("plain")).isEmpty();
        assertThat(lines("hooked"))
                .singleElement()
                .asString()
                .contains("one process and one device: DJL trains without Banyan");
    }

    private List<String> train(String classPath, String name) throws IOException, InterruptedException {
        Path out = Files.createDirectories(folder.resolve(name));
        List<String> command = Jvm.command(
                List.of("-Dorg.slf4j.simpleLogger.log.dev.banyan=info"), TrainingProgram.class, out.toString());
        command.set(command.indexOf("-cp") + 1, classPath);
        TestProcess run = processes.start(new ProcessBuilder(command));
        assertThat(run.await()).isZero();
        Files.writeString(folder.resolve(name + ".log"), run.out() + run.err());
        return Files.readAllLines(out.resolve("adam-alone.txt"));
    }

    private List<String> lines(String name) throws IOException {
        return Files.readAllLines(folder.resolve(name + ".log")).stream()
                .filter(line -> line.contains("dev.banyan"))
                .toList();
    }
}
