package dev.banyan.reduce.internal.processes;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

@EnabledOnOs(OS.LINUX)
class DescriptorSocketTest {
    private static Path file(int descriptor) {
        return Path.of("/proc/self/fd/" + descriptor);
    }

    @Test
    void copiesOfDescriptorsArriveAndEndWithAProgram() throws Exception {
        int[] copies;
        try (SharedMemory one = SharedMemory.create("banyan-one", 8);
                SharedMemory two = SharedMemory.create("banyan-two", 8)) {
            one.memory().set(ValueLayout.JAVA_LONG, 0, 1);
            two.memory().set(ValueLayout.JAVA_LONG, 0, 2);
            try (DescriptorSocket socket = new DescriptorSocket()) {
                // Nothing of it stays if the process is killed.
                assertThat(Files.readSymbolicLink(file(socket.descriptor())).toString())
                        .endsWith(" (deleted)");
                int[] given = {two.descriptor(), one.descriptor(), two.descriptor()};
                socket.send(ProcessId.own(), socket.descriptor(), given);
                copies = socket.receive(3);
            }
        }
        for (int c = 0; c < 3; c++) {
            assertThat(Files.readAllBytes(file(copies[c]))[0]).isEqualTo((byte) (c == 1 ? 1 : 2));
            // The flag that closes it when the process executes a program.
            assertThat(Files.readString(Path.of("/proc/self/fdinfo/" + copies[c])))
                    .containsPattern("flags:\\s+0*2[0-7]{6}\n");
        }
        LinuxCalls.close(copies);
    }

    @Test
    void anotherNumberOfDescriptorsIsRefused() throws Exception {
        try (SharedMemory memory = SharedMemory.create("banyan-one", 8);
                DescriptorSocket socket = new DescriptorSocket()) {
            assertThatThrownBy(() -> socket.receive(1))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("passes 0 of 1 descriptors");
            int[] given = {memory.descriptor()};
            socket.send(ProcessId.own(), socket.descriptor(), given);
            long before = count();
            assertThatThrownBy(() -> socket.receive(2)).hasMessageContaining("passes 1 of 2 descriptors");
            assertThat(count()).isEqualTo(before);
            assertThatThrownBy(() -> socket.send(ProcessId.own(), memory.descriptor(), given))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("passes no descriptors to process ");
            ProcessId own = ProcessId.own();
            // A later process with the number of one that has ended.
            ProcessId later = new ProcessId(own.pid(), own.start() + 1);
            assertThatThrownBy(() -> socket.send(later, socket.descriptor(), given))
                    .hasMessageContaining("passes no descriptors to process ");
        }
    }

    private static long count() throws IOException {
        try (var open = Files.list(Path.of("/proc/self/fd"))) {
            return open.filter(file -> {
                        try {
                            return Files.readSymbolicLink(file).toString().contains("banyan-one");
                        } catch (IOException e) {
                            return false;
                        }
                    })
                    .count();
        }
    }
}
