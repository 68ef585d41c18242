package dev.banyan.export;

import dev.banyan.InputException;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Presets;
import dev.banyan.topology.format.MachineReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Machines that files are written for: the presets, real captures where they are there, and random subsets of both. */
final class SampleMachines {
    private SampleMachines() {}

    static List<Machine> of(int count) throws IOException {
        List<Machine> machines = new ArrayList<>(Presets.all());
        for (String folder : List.of("topo_m", "xml", "xml/rccl")) {
            Path path = Path.of(System.getProperty("banyan.shared", "."), "corpus", folder);
            if (Files.isDirectory(path)) {
                try (Stream<Path> files = Files.list(path)) {
                    files.filter(Files::isRegularFile).sorted().forEach(file -> addIfMachine(file, machines));
                }
            }
        }
        Random random = new Random(41);
        int whole = machines.size();
        while (machines.size() < count) {
            Machine machine = machines.get(random.nextInt(whole));
            int size = 2 + random.nextInt(machine.size() - 1);
            List<Integer> devices =
                    new ArrayList<>(IntStream.range(0, machine.size()).boxed().toList());
            Collections.shuffle(devices, random);
            machines.add(machine.subset(
                    devices.stream().limit(size).mapToInt(Integer::intValue).toArray()));
        }
        return machines.subList(0, count);
    }

    /** Some captures are no machines, or have a single device. */
    private static void addIfMachine(Path file, List<Machine> machines) {
        try {
            Machine machine = new MachineReader().read(file);
            if (machine.size() >= 2) {
                machines.add(machine);
            }
        } catch (InputException refused) {
            // The tests of the formats cover refusals.
        }
    }
}
