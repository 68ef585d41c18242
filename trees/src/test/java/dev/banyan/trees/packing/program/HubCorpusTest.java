package dev.banyan.trees.packing.program;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.banyan.InputException;
import dev.banyan.topology.Machine;
import dev.banyan.topology.format.MachineReader;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.TreePacking;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.commons.numbers.fraction.BigFraction;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Every machine of the corpus of real captures, where it is there. */
class HubCorpusTest {
    @ParameterizedTest
    @CsvSource({"topo_m, 25", "xml, 5"})
    void reachesTheBoundOnEveryMachine(String folder, int atLeast) throws IOException {
        Path path = Path.of(System.getProperty("banyan.shared", "."), "corpus", folder);
        assumeTrue(Files.isDirectory(path), "no real captures at " + path + " (system property banyan.shared)");
        int machines = 0;
        try (Stream<Path> files = Files.list(path)) {
            for (Path file : files.sorted().toList()) {
                Optional<Machine> machine = read(file).filter(read -> read.size() >= 2);
                if (machine.isPresent()) {
                    check(Network.of(machine.get()));
                    check(Network.ofAllLinks(
                            machine.get(),
                            IntStream.range(0, machine.get().size()).toArray()));
                    machines++;
                }
            }
        }
        assertThat(machines).isGreaterThanOrEqualTo(atLeast);
    }

    /** Some captures are no machines, which the tests of the formats go into. */
    private static Optional<Machine> read(Path file) {
        try {
            return Optional.of(new MachineReader().read(file));
        } catch (InputException refused) {
            return Optional.empty();
        }
    }

    private static void check(Network network) {
        TreePacking packing = new HubPacking(network).ofAtMost(Integer.MAX_VALUE);
        PackingChecks.check(packing);
        assertThat(packing.ratio()).as(network.name()).isEqualTo(BigFraction.ONE);
    }
}
