package dev.banyan.nvml;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.topology.Connection;
import dev.banyan.topology.Connection.Kind;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Routes;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Random machines: what the probe makes of one is what {@code nvidia-smi topo -m} would print of it. */
class RandomMachineTest {
    private static final int[] LEVELS = {10, 20, 30, 40, 50};
    private static final Kind[] KINDS = {Kind.PIX, Kind.PXB, Kind.PHB, Kind.NODE, Kind.SYS};

    @TempDir
    Path folder;

    @ParameterizedTest
    @ValueSource(longs = {11, 12, 13})
    void cellsAreThoseOfTheDriver(long seed) {
        StandIn standIn = StandIn.in(folder);
        Random random = new Random(seed);
        for (int round = 0; round < 60; round++) {
            int n = 1 + random.nextInt(9);
            int[][] level = levels(random, n);
            int[][] lanes = new int[n][n];
            boolean switched = random.nextInt(4) == 0;
            int[] toSwitch = new int[n];
            String text = describe(random, n, level, lanes, switched, toSwitch);
            Machine machine = standIn.play(text).found();
            Routes routes = Routes.of(machine);
            for (int a = 0; a < n; a++) {
                for (int b = 0; b < n; b++) {
                    int count = lanes[a][b] + (a == b ? 0 : Math.min(toSwitch[a], toSwitch[b]));
                    Connection cell = routes.between(a, b);
                    String expected = a == b ? "X" : count > 0 ? "NV" + count : KINDS[level[a][b]].name();
                    assertThat(cell.label()).as("%d-%d of%n%s", a, b, text).isEqualTo(expected);
                    assertThat(cell.kind() != Kind.NVLINK || cell.gbs() == 25.0 * count)
                            .isTrue();
                }
            }
        }
    }

    /** Nested groups: ends that share the group at a level are at most that far apart. */
    private static int[][] levels(Random random, int n) {
        int[][] group = new int[n][4];
        for (int[] of : group) {
            of[3] = random.nextInt(2);
            for (int depth = 2; depth >= 0; depth--) {
                of[depth] = of[depth + 1] * 3 + random.nextInt(depth == 0 ? 3 : 2);
            }
        }
        int[][] level = new int[n][n];
        for (int a = 0; a < n; a++) {
            for (int b = 0; b < n; b++) {
                int depth = 0;
                while (depth < 4 && group[a][depth] != group[b][depth]) {
                    depth++;
                }
                level[a][b] = depth;
            }
        }
        return level;
    }

    private static String describe(
            Random random, int n, int[][] level, int[][] lanes, boolean switched, int[] toSwitch) {
        List<List<String>> ends = new ArrayList<>();
        for (int a = 0; a < n; a++) {
            ends.add(new ArrayList<>());
            toSwitch[a] = switched ? random.nextInt(5) : 0;
            for (int i = 0; i < toSwitch[a]; i++) {
                ends.get(a).add("0000:f%d:00.0 switch".formatted(i));
            }
        }
        for (int a = 0; a < n; a++) {
            for (int b = 0; b < a; b++) {
                int count = random.nextInt(3) == 0 ? 1 + random.nextInt(3) : 0;
                if (Math.max(ends.get(a).size(), ends.get(b).size()) + count <= 18) {
                    lanes[a][b] = lanes[b][a] = count;
                    ends.get(a).addAll(Collections.nCopies(count, "0000:0%d:00.0 gpu".formatted(b)));
                    ends.get(b).addAll(Collections.nCopies(count, "0000:0%d:00.0 gpu".formatted(a)));
                }
            }
        }
        StringBuilder text = new StringBuilder("driver 535.1\n");
        for (int a = 0; a < n; a++) {
            text.append("gpu %d 0000:0%d:00.0 8 0 1000 %d 4 16 NVIDIA A100\n".formatted(a, a, random.nextInt(2)));
            Collections.shuffle(ends.get(a), random);
            text.append("links %d %d\n".formatted(a, Math.min(18, ends.get(a).size() + random.nextInt(2))));
            for (int i = 0; i < ends.get(a).size(); i++) {
                text.append("link %d %d 4 1 %s\n".formatted(a, i, ends.get(a).get(i)));
            }
            for (int b = 0; b < a; b++) {
                text.append("level %d %d %d\n".formatted(a, b, LEVELS[level[a][b]]));
            }
        }
        return text.toString();
    }
}
