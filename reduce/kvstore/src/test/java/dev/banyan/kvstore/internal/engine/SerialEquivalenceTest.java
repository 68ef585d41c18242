package dev.banyan.kvstore.internal.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Whatever runs beside whatever: every read sees the value that serial execution gives. */
class SerialEquivalenceTest {
    private static final int VARIABLES = 100;
    private static final int OPERATIONS = 100_000;
    private static final int THREADS = 8;

    /** Plain memory: only the engine makes one thread see what another wrote. */
    private static final class Cells {
        final long[] values = new long[VARIABLES];
        final long[] seen = new long[OPERATIONS];

        void run(int operation, int[] reads, int[] mutates) {
            long hash = operation;
            for (int read : reads) {
                hash = 31 * hash + values[read];
            }
            for (int mutated : mutates) {
                hash = 31 * hash + values[mutated];
            }
            seen[operation] = hash;
            for (int mutated : mutates) {
                values[mutated] = hash ^ mutated;
            }
        }
    }

    @Test
    void readsSeeWhatSerialExecutionGives() {
        check(1);
    }

    @Test
    @Tag("soak")
    void readsSeeWhatSerialExecutionGivesForManySeeds() {
        for (long seed = 100; seed < 300; seed++) {
            check(seed);
        }
    }

    private static void check(long seed) {
        Random random = new Random(seed);
        Cells serial = new Cells();
        Cells concurrent = new Cells();
        try (DependencyEngine engine = new DependencyEngine(THREADS)) {
            List<Variable> variables = IntStream.range(0, VARIABLES)
                    .mapToObj(i -> engine.variable())
                    .toList();
            Lane[] lanes = Lane.values();
            for (int i = 0; i < OPERATIONS; i++) {
                int operation = i;
                int[] reads = random.ints(random.nextInt(4), 0, VARIABLES).toArray();
                int[] mutates = random.ints(random.nextInt(3), 0, VARIABLES).toArray();
                serial.run(operation, reads, mutates);
                engine.push(
                        lanes[random.nextInt(lanes.length)],
                        () -> concurrent.run(operation, reads, mutates),
                        of(variables, reads),
                        of(variables, mutates),
                        random.nextInt(5));
            }
            engine.waitAll();
        }
        assertThat(concurrent.seen).as("reads with seed %d", seed).isEqualTo(serial.seen);
        assertThat(concurrent.values).as("values with seed %d", seed).isEqualTo(serial.values);
    }

    private static List<Variable> of(List<Variable> variables, int[] indices) {
        return IntStream.of(indices).mapToObj(variables::get).toList();
    }

    @Test
    void anyNumberOfThreadsMayPush() throws InterruptedException {
        int each = 20_000;
        long[] cells = new long[10];
        try (DependencyEngine engine = new DependencyEngine(2)) {
            List<Variable> variables =
                    IntStream.range(0, 10).mapToObj(i -> engine.variable()).toList();
            List<Thread> pushers = new ArrayList<>();
            for (int t = 0; t < 4; t++) {
                Random random = new Random(t);
                pushers.add(Thread.ofPlatform().start(() -> {
                    for (int i = 0; i < each; i++) {
                        List<Integer> all = new ArrayList<>(List.of(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
                        Collections.shuffle(all, random);
                        List<Integer> chosen = all.subList(0, 3);
                        engine.push(
                                () -> chosen.forEach(c -> cells[c]++),
                                List.of(),
                                chosen.stream().map(variables::get).toList(),
                                0);
                    }
                }));
            }
            for (Thread pusher : pushers) {
                pusher.join();
            }
            engine.waitAll();
        }
        assertThat(Arrays.stream(cells).sum()).isEqualTo(4L * each * 3);
    }
}
