package dev.banyan.reduce.internal.processes;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.test.Processes;
import dev.banyan.test.TestProcess;
import java.util.BitSet;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.extension.RegisterExtension;

class JobCoresTest {
    @RegisterExtension
    private final Processes processes = new Processes();

    private static BitSet bits(int... numbers) {
        return IntStream.of(numbers).collect(BitSet::new, BitSet::set, BitSet::or);
    }

    @Test
    void listsOfTheKernelAreRead() {
        assertThat(JobCores.parse("5")).isEqualTo(bits(5));
        assertThat(JobCores.parse("0-3,8")).isEqualTo(bits(0, 1, 2, 3, 8));
        assertThat(JobCores.parse("0,64-65,127")).isEqualTo(bits(0, 64, 65, 127));
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void coresOfABoundProcessCountBesideThoseOfOthers() throws Exception {
        int own = Runtime.getRuntime().availableProcessors();
        TestProcess bound = processes.start(
                new ProcessBuilder("taskset", "-c", "0", "sh", "-c", "echo ready; exec sleep infinity"));
        bound.awaitLine("ready");
        ProcessId other = new ProcessId(bound.pid(), 0);
        assertThat(JobCores.count(List.of(other))).isEqualTo(1);
        assertThat(JobCores.count(List.of(ProcessId.own(), other))).isEqualTo(own);
    }
}
