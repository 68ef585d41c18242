package dev.banyan.msccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.internal.algorithm.CollectiveRequest;
import dev.banyan.schedule.internal.algorithm.ForestAlgorithm;
import dev.banyan.schedule.internal.algorithm.RingAlgorithm;
import dev.banyan.schedule.internal.algorithm.Samples;
import dev.banyan.schedule.internal.algorithm.StarAlgorithm;
import dev.banyan.schedule.type.Collective;
import dev.banyan.trees.Forest;
import dev.banyan.trees.Tree;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.apache.commons.numbers.fraction.BigFraction;
import org.junit.jupiter.api.Test;

class MscclWriterTest {
    private static ForestAlgorithm line(int n) {
        return new ForestAlgorithm("single-tree", Forest.equalShares(List.of(Samples.line(n))));
    }

    private static Schedule allReduce(int n, int chunks) {
        return line(n).schedule(MscclRequests.of(Collective.ALL_REDUCE, -1, chunks, false));
    }

    @Test
    void writesWhatTheRuntimeReads() {
        assertThat(MscclWriter.write(allReduce(3, 1))).isEqualTo(MscclReaderTest.resource("single_tree_3.xml"));
    }

    @Test
    void chunksAreAsLargeAsTheRangesAllow() {
        CollectiveRequest real = new CollectiveRequest(Collective.ALL_REDUCE, -1, 1 << 20, 4, false, Long.MAX_VALUE);
        RingAlgorithm ring = new RingAlgorithm(0, 1, 2, 3);
        assertThat(MscclWriter.algo(ring.schedule(real), MscclOptions.named("ring"))
                        .chunksPerLoop())
                .isEqualTo(4);
        CollectiveRequest odd = new CollectiveRequest(Collective.ALL_REDUCE, -1, 1_000_003, 4, false, Long.MAX_VALUE);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> MscclWriter.write(ring.schedule(odd)))
                .withMessageContaining("1000003 equal chunks")
                .withMessageContaining("MscclRequests");
    }

    @Test
    void saysBothWaysOnlyIfProvenBothWays() {
        String allReduce = MscclWriter.write(allReduce(3, 1));
        assertThat(allReduce).contains("inplace=\"1\" outofplace=\"1\"");
        Schedule broadcast = line(3).schedule(MscclRequests.of(Collective.BROADCAST, 0, 1, true));
        assertThat(MscclWriter.write(broadcast)).contains("inplace=\"1\" outofplace=\"0\"");
    }

    /** One tree for all but one of the chunks, another for that. */
    private static Schedule uneven(int chunks) {
        Forest forest = new Forest(
                List.of(Samples.line(2), Tree.ofParents(1, -1)), List.of((chunks - 1.0) / chunks, 1.0 / chunks));
        return new ForestAlgorithm("uneven", forest)
                .schedule(MscclRequests.of(Collective.ALL_REDUCE, -1, chunks, false));
    }

    @Test
    void longChunksAreCutAtTheGreatestCount() {
        Algo algo = MscclWriter.algo(uneven(201), MscclOptions.named("x"));
        assertThat(algo.chunksPerLoop()).isEqualTo(201);
        assertThat(algo.gpus().get(0).threadblocks().getFirst().instructions())
                .extracting(Algo.Instruction::count)
                .containsExactly(66, 67, 67);
        assertThat(MscclWriter.algo(allReduce(2, 200), MscclOptions.named("x")).chunksPerLoop())
                .isEqualTo(1);
    }

    @Test
    void treesHaveChannelsOfTheirOwnWhileThereAreAny() {
        Random random = new Random(5);
        List<Tree> trees = IntStream.range(0, 8)
                .mapToObj(root -> Samples.tree(8, root, random))
                .toList();
        Schedule schedule = new ForestAlgorithm("multi-tree", Forest.equalShares(trees))
                .schedule(MscclRequests.of(Collective.ALL_REDUCE, -1, 8, false));
        Algo wide = MscclWriter.algo(schedule, MscclOptions.named("x"));
        assertThat(wide.channels()).isEqualTo(8);
        assertThat(wide.gpus().stream().flatMap(gpu -> gpu.threadblocks().stream()))
                .allMatch(block -> block.instructions().stream()
                                .filter(o -> o.opcode() != Opcode.NOP)
                                .count()
                        == 1);
        Algo narrow = MscclWriter.algo(schedule, new MscclOptions("x", MscclProtocol.LL, 32, 14, 0, 1));
        assertThat(narrow.channels()).isBetween(1, 7);
        assertThat(narrow.gpus()).allMatch(gpu -> gpu.threadblocks().size() <= 14);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> MscclWriter.algo(schedule, new MscclOptions("x", MscclProtocol.LL, 32, 2, 0, 1)))
                .withMessageContaining("threadblocks and may have 2");
    }

    @Test
    void aRankNeedsNoMoreThreadblocksThanItHasPeers() {
        Schedule schedule = new StarAlgorithm(8).schedule(MscclRequests.of(Collective.ALL_GATHER, -1, 8, false));
        for (int threadblocks = 7; threadblocks <= 15; threadblocks++) {
            Algo algo = MscclWriter.algo(schedule, new MscclOptions("x", MscclProtocol.LL, 1, threadblocks, 0, 1));
            assertThat(algo.gpus().getFirst().threadblocks()).hasSize(threadblocks);
        }
        assertThatIllegalArgumentException()
                .isThrownBy(() -> MscclWriter.algo(schedule, new MscclOptions("x", MscclProtocol.LL, 1, 6, 0, 1)))
                .withMessageContaining("needs 7 threadblocks and may have 6");
    }

    @Test
    void refusesWhatTheRuntimeHasNoRoomFor() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> MscclWriter.write(
                        new StarAlgorithm(40).schedule(MscclRequests.of(Collective.ALL_REDUCE, -1, 1, false))))
                .withMessageContaining("39 peers")
                .withMessageContaining("fewer children");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> MscclWriter.write(uneven(30_000)))
                .withMessageContaining("steps and may have 256");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> MscclWriter.write(uneven(40_000)))
                .withMessageContaining("40000 equal chunks");
        assertThatIllegalArgumentException()
                .isThrownBy(
                        () -> MscclWriter.write(line(1).schedule(MscclRequests.of(Collective.ALL_REDUCE, -1, 1, true))))
                .withMessageContaining("no steps");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> MscclWriter.write(
                        line(2).schedule(new CollectiveRequest(Collective.ALL_REDUCE, -1, 0, 4, false, 64))))
                .withMessageContaining("no elements");
    }

    @Test
    void refusesOptionsOutOfRange() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> MscclOptions.named("a<b"))
                .withMessageContaining("a<b");
        assertThatIllegalArgumentException().isThrownBy(() -> MscclOptions.named("x".repeat(64)));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new MscclOptions("x", MscclProtocol.LL, 33, 1, 0, 1))
                .withMessageContaining("33 channels");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new MscclOptions("x", MscclProtocol.LL, 1, 129, 0, 1))
                .withMessageContaining("129 threadblocks");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new MscclOptions("x", MscclProtocol.LL, 1, 1, 2, 1))
                .withMessageContaining("from 2 to 1");
    }

    @Test
    void equalChunksAreTheCommonDenominator() {
        List<BigFraction> shares = List.of(BigFraction.of(1, 4), BigFraction.of(1, 6), BigFraction.of(7, 12));
        assertThat(MscclRequests.equalChunks(shares, 12)).isEqualTo(12);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> MscclRequests.equalChunks(shares, 11))
                .withMessageContaining("12 equal chunks")
                .withMessageContaining("fewer trees");
        List<Tree> trees = IntStream.range(0, 3).mapToObj(_ -> Samples.line(2)).toList();
        Forest forest = new Forest(trees, List.of(1 / 4.0, 1 / 6.0, 7 / 12.0));
        assertThat(MscclRequests.equalChunks(forest, 1024)).isEqualTo(12);
        assertThatIllegalArgumentException().isThrownBy(() -> MscclRequests.equalChunks(forest, 11));
        assertThatIllegalArgumentException().isThrownBy(() -> MscclRequests.of(Collective.ALL_REDUCE, -1, 0, false));
        Schedule schedule =
                new ForestAlgorithm("f", forest).schedule(MscclRequests.of(Collective.ALL_REDUCE, -1, 12, false));
        assertThat(schedule.chunks()).extracting(chunk -> chunk.bytes() / 64).containsExactly(3L, 2L, 7L);
    }
}
