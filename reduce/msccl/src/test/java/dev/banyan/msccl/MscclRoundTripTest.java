package dev.banyan.msccl;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.ScheduleProof;
import dev.banyan.schedule.ScheduleVerifier;
import dev.banyan.schedule.internal.algorithm.CollectiveAlgorithm;
import dev.banyan.schedule.internal.algorithm.CollectiveRequest;
import dev.banyan.schedule.internal.algorithm.ForestAlgorithm;
import dev.banyan.schedule.internal.algorithm.RingAlgorithm;
import dev.banyan.schedule.internal.algorithm.Samples;
import dev.banyan.schedule.internal.algorithm.StarAlgorithm;
import dev.banyan.schedule.type.Collective;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.trees.Forest;
import dev.banyan.trees.Tree;
import dev.banyan.trees.balanced.KernighanLin;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.w3c.dom.Element;

/**
 * On random machines, every algorithm's schedule of every collective survives being written and read, and the file
 * does what it should on a machine that knows nothing of either.
 */
class MscclRoundTripTest {
    @Test
    void randomMachines() throws IOException {
        machines(3);
    }

    @Test
    @Tag("soak")
    @Timeout(3600)
    void manyRandomMachines() throws IOException {
        machines(500);
    }

    private static void machines(int count) throws IOException {
        for (int machine = 0; machine < count; machine++) {
            Random random = new Random(machine * 0x9E3779B97F4A7C15L);
            int n = machine == 0 ? 1 : 2 + random.nextInt(7);
            for (CollectiveAlgorithm algorithm : algorithms(n, random)) {
                for (Collective collective : Collective.values()) {
                    check(algorithm, collective, random);
                }
            }
        }
    }

    private static List<CollectiveAlgorithm> algorithms(int n, Random random) {
        int[] roots = IntStream.range(0, n).toArray();
        List<Tree> trees =
                new KernighanLin().generate(connected(n, random), roots).trees();
        List<CollectiveAlgorithm> algorithms = new ArrayList<>();
        algorithms.add(new ForestAlgorithm("single-tree", Forest.equalShares(trees.subList(0, 1))));
        algorithms.add(new ForestAlgorithm("multi-tree", Forest.equalShares(trees)));
        algorithms.add(new RingAlgorithm(Samples.permutation(n, random)));
        algorithms.add(new StarAlgorithm(n, random.nextInt(n)));
        algorithms.add(Samples.algorithms(n, random).get(2));
        return algorithms;
    }

    /** Random classes over a random tree that connects all. */
    private static LinkMatrix connected(int n, Random random) {
        int[][] classes = new int[n][n];
        for (int[] edge : Samples.tree(n, 0, random).edges()) {
            classes[edge[0]][edge[1]] = 2 + random.nextInt(2);
        }
        for (int a = 0; a < n; a++) {
            for (int b = 0; b < a; b++) {
                classes[a][b] = Math.max(Math.max(classes[a][b], classes[b][a]), random.nextInt(4));
                classes[b][a] = classes[a][b];
            }
        }
        return new LinkMatrix(classes, new double[n][n]);
    }

    private static void check(CollectiveAlgorithm algorithm, Collective collective, Random random) throws IOException {
        int n = algorithm.ranks();
        int root = collective.hasRoot() ? random.nextInt(n) : -1;
        int chunks = n * (1 + random.nextInt(random.nextInt(4) == 0 ? 60 : 3));
        boolean inPlace = n > 1 && random.nextBoolean();
        CollectiveRequest request = MscclRequests.of(collective, root, chunks, inPlace);
        Schedule schedule = algorithm.schedule(request);
        // A threadblock for each other rank is enough for any schedule.
        int threadblocks = Math.max(1, n - 1) + random.nextInt(random.nextBoolean() ? 8 : 100);
        MscclOptions options = new MscclOptions(
                algorithm.name(), MscclProtocol.SIMPLE, 1 + random.nextInt(32), threadblocks, 0, 1 << 30);
        String xml = MscclWriter.write(schedule, options);
        String context = algorithm.name() + " " + collective + " root " + root + " over " + n + ":\n" + xml;

        Element file = MscclMachine.parse(xml);
        assertThat(MscclMachine.violation(file)).as(context).isEmpty();
        Schedule read = MscclReader.read("file", new ByteArrayInputStream(xml.getBytes(StandardCharsets.UTF_8)));
        assertThat(read.collective()).isEqualTo(collective);
        assertThat(read.root()).isEqualTo(root);
        assertThat(read.ranks()).isEqualTo(n);
        ScheduleProof before = ScheduleVerifier.verify(schedule);
        ScheduleProof after = ScheduleVerifier.verify(read);
        long scale = chunks * 64L / read.count();
        for (int from = 0; from < n; from++) {
            for (int to = 0; to < n; to++) {
                assertThat(after.bytesBetween(from, to) * scale).as(context).isEqualTo(before.bytesBetween(from, to));
            }
        }
        assertThat(xml).contains(inPlace ? "inplace=\"1\"" : "outofplace=\"1\"");
        for (boolean runInPlace : new boolean[] {false, true}) {
            if (xml.contains(runInPlace ? " inplace=\"1\"" : "outofplace=\"1\"")) {
                for (int capacity : new int[] {MscclMachine.RENDEZVOUS, 1, 2, 8}) {
                    MscclMachine.Mode mode = new MscclMachine.Mode(
                            runInPlace, root, capacity, random.nextBoolean(), 1 + random.nextInt(3));
                    assertThat(MscclMachine.run(file, mode, random))
                            .as(() -> mode + " " + context)
                            .isEmpty();
                }
            }
        }
    }
}
