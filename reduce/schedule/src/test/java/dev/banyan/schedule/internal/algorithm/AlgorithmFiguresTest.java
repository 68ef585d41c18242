package dev.banyan.schedule.internal.algorithm;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.SchedulePrinter;
import dev.banyan.schedule.ScheduleProof;
import dev.banyan.schedule.ScheduleVerifier;
import dev.banyan.schedule.Summation;
import dev.banyan.schedule.type.Collective;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.Machine;
import dev.banyan.trees.Forest;
import dev.banyan.trees.Tree;
import dev.banyan.trees.network.Network;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** The figures of docs/algorithms.md and docs/algorithms.csv are those that the verifier reports. */
class AlgorithmFiguresTest {
    private static final int RANKS = 8;
    private static final long COUNT = 1 << 18;
    private static final int ELEMENT_BYTES = 4;

    private static List<CollectiveAlgorithm> algorithms() {
        List<Tree> trees = IntStream.range(0, RANKS)
                .mapToObj(AlgorithmFiguresTest::binomial)
                .toList();
        return List.of(
                new ForestAlgorithm("single-tree", Forest.equalShares(trees.subList(0, 1))),
                new ForestAlgorithm("multi-tree", Forest.equalShares(trees)),
                new PackedAlgorithm(Network.of(Machine.preset("dgx-a100"))),
                new RingAlgorithm(IntStream.range(0, RANKS).toArray()),
                new StarAlgorithm(RANKS),
                new OneShotAlgorithm(LinkMatrix.of(Machine.preset("dgx-a100"))));
    }

    /** The binomial tree in which a parent differs from its child in one bit. */
    private static Tree binomial(int root) {
        return Tree.ofParents(IntStream.range(0, RANKS)
                .map(v -> v == root ? -1 : ((v ^ root) & ((v ^ root) - 1)) ^ root)
                .toArray());
    }

    private static ScheduleProof proof(CollectiveAlgorithm algorithm, Collective collective) {
        return ScheduleVerifier.verify(algorithm.schedule(new CollectiveRequest(
                collective, collective.hasRoot() ? 0 : -1, COUNT, ELEMENT_BYTES, true, Long.MAX_VALUE)));
    }

    @Test
    void documentHasTheFigures() throws IOException {
        List<String> rows = Arrays.stream(Collective.values())
                .flatMap(collective -> algorithms().stream().map(algorithm -> row(algorithm, collective)))
                .toList();
        assertThat(Files.readAllLines(Path.of("..", "..", "docs", "algorithms.csv")))
                .hasSize(rows.size() + 1)
                .endsWith(rows.toArray(String[]::new));
        String prefix = Collective.ALL_REDUCE.label() + ",";
        assertThat(document())
                .contains(rows.stream()
                        .filter(row -> row.startsWith(prefix))
                        .map(row -> "| " + row.substring(prefix.length()).replace(",", " | ") + " |\n")
                        .collect(Collectors.joining()));
    }

    private static String row(CollectiveAlgorithm algorithm, Collective collective) {
        ScheduleProof proof = proof(algorithm, collective);
        boolean blocks = collective == Collective.REDUCE_SCATTER || collective == Collective.ALL_GATHER;
        double size = (double) COUNT * ELEMENT_BYTES * (blocks ? RANKS : 1);
        return String.format(
                Locale.ROOT,
                "%s,%s,%d,%d,%.3f,%.3f,%.3f",
                collective.label(),
                algorithm.name(),
                proof.steps(),
                proof.depth(),
                most(proof, proof::bytesIn) / size,
                most(proof, proof::bytesOut) / size,
                busiestPair(proof) / size);
    }

    @Test
    void documentShowsTheScheduleOfASmallTree() throws IOException {
        ForestAlgorithm tree =
                new ForestAlgorithm("single-tree", Forest.equalShares(List.of(Tree.ofParents(-1, 0, 0, 2))));
        Schedule schedule =
                tree.schedule(new CollectiveRequest(Collective.ALL_REDUCE, -1, 4, 4, false, Long.MAX_VALUE));
        assertThat(document()).contains(SchedulePrinter.print(schedule));
    }

    private static String document() throws IOException {
        return Files.readString(Path.of("..", "..", "docs", "algorithms.md"));
    }

    private static double most(ScheduleProof proof, ToLongFunction<Integer> bytes) {
        return IntStream.range(0, proof.ranks()).boxed().mapToLong(bytes).max().orElseThrow();
    }

    private static double busiestPair(ScheduleProof proof) {
        int n = proof.ranks();
        return IntStream.range(0, n * n)
                .mapToLong(i -> proof.bytesBetween(i / n, i % n))
                .max()
                .orElseThrow();
    }

    @Test
    void ringMovesTheLeastThatIsPossible() {
        for (int n = 2; n <= 17; n++) {
            RingAlgorithm ring = new RingAlgorithm(IntStream.range(0, n).toArray());
            long count = 1024L * n;
            ScheduleProof proof = ScheduleVerifier.verify(
                    ring.schedule(new CollectiveRequest(Collective.ALL_REDUCE, -1, count, 4, false, Long.MAX_VALUE)));
            assertThat(proof.steps()).isEqualTo(2 * n * (n - 1));
            assertThat(proof.depth()).isEqualTo(2 * (n - 1));
            for (int rank = 0; rank < n; rank++) {
                assertThat(proof.bytesIn(rank)).isEqualTo(2L * (n - 1) * count * 4 / n);
                assertThat(proof.bytesOut(rank)).isEqualTo(proof.bytesIn(rank));
                assertThat(proof.bytesBetween(rank, (rank + 1) % n)).isEqualTo(proof.bytesOut(rank));
            }
        }
    }

    @Test
    void treesAreAsDeepAsTwiceTheirDepth() {
        for (int n = 2; n <= 12; n++) {
            ForestAlgorithm line = new ForestAlgorithm("single-tree", Forest.equalShares(List.of(Samples.line(n))));
            ScheduleProof proof = ScheduleVerifier.verify(
                    line.schedule(new CollectiveRequest(Collective.ALL_REDUCE, -1, 100, 4, false, Long.MAX_VALUE)));
            assertThat(proof.depth()).isEqualTo(2 * (n - 1));
            assertThat(proof.steps()).isEqualTo(2 * (n - 1));
            assertThat(proof.summations()).extracting(Summation::to).containsExactly(100L);
        }
    }

    @Test
    void onlyReductionsToOneRankAndCopiesOfAllDataNeedScratch() {
        for (CollectiveAlgorithm algorithm : algorithms()) {
            String used = List.of(Collective.values()).stream()
                    .filter(collective -> algorithm
                                    .schedule(new CollectiveRequest(
                                            collective, collective.hasRoot() ? 0 : -1, COUNT, 4, false, 1 << 16))
                                    .scratchBytes()
                            > 0)
                    .map(Collective::label)
                    .collect(Collectors.joining(" "));
            // No partial result waits anywhere if blocks are exchanged directly.
            assertThat(used)
                    .isEqualTo(
                            switch (algorithm.name()) {
                                case "star" -> "";
                                case "packing" -> "reduce";
                                case "one-shot" -> "all_reduce";
                                default -> "reduce reduce_scatter";
                            });
        }
    }
}
