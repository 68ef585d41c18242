package dev.banyan.schedule;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.banyan.schedule.type.Collective;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * Plants one fault of each kind into schedules that are right, by hand, and expects the message that names
 * it.
 */
class ScheduleVerifierTest {
    private static final long BYTES = 16;

    private static Location in(int rank) {
        return new Location(rank, Space.INPUT, 0);
    }

    private static Location out(int rank) {
        return new Location(rank, Space.OUTPUT, 0);
    }

    private static Location scratch(int rank) {
        return new Location(rank, Space.SCRATCH, 0);
    }

    private static Step step(Location target, List<Location> sources, Integer... after) {
        return new Step(sources, target, List.of(after));
    }

    /** All to rank 1, which sums in the order 1, 0, 2; back to all. */
    private static final Step SUM = step(out(1), List.of(in(1), in(0), in(2)));

    private static final Step TO_0 = step(out(0), List.of(out(1)), 0);
    private static final Step TO_2 = step(out(2), List.of(out(1)), 0);

    private static Schedule allReduce(boolean inPlace, Step... steps) {
        return schedule(Collective.ALL_REDUCE, -1, inPlace, new Chunk(BYTES, List.of(steps)));
    }

    private static Schedule schedule(Collective collective, int root, boolean inPlace, Chunk... chunks) {
        return new Schedule("by hand", collective, 3, root, 4, 4, inPlace, BYTES, List.of(chunks));
    }

    private static void assertRefused(Schedule schedule, String... words) {
        assertThatExceptionOfType(ScheduleException.class)
                .isThrownBy(() -> ScheduleVerifier.verify(schedule))
                .withMessageContainingAll(words)
                .satisfies(e -> assertThat(e.violations()).hasSizeBetween(1, 20));
    }

    @Test
    void provesAStar() {
        for (boolean inPlace : new boolean[] {false, true}) {
            ScheduleProof proof = ScheduleVerifier.verify(allReduce(inPlace, SUM, TO_0, TO_2));
            assertThat(proof.chunks()).isEqualTo(1);
            assertThat(proof.steps()).isEqualTo(3);
            assertThat(proof.depth()).isEqualTo(2);
            assertThat(proof.ranks()).isEqualTo(3);
            assertThat(proof.bytesIn(1)).isEqualTo(2 * BYTES);
            assertThat(proof.bytesOut(1)).isEqualTo(2 * BYTES);
            assertThat(proof.bytesBetween(0, 1)).isEqualTo(BYTES);
            assertThat(proof.bytesBetween(0, 2)).isZero();
            assertThat(proof.bytesBetween(1, 1)).isZero();
            assertThat(proof.summations()).containsExactly(new Summation(0, 4, "1 + 0 + 2"));
        }
    }

    @Test
    void droppedDependency() {
        assertRefused(
                allReduce(false, SUM, step(out(0), List.of(out(1))), TO_2),
                "by hand",
                "all_reduce",
                "chunk 0, step 1",
                "1.out[0..16)",
                "does not wait for step 0");
    }

    @Test
    void overwriteOfWhatMayStillBeRead() {
        Step early = step(scratch(0), List.of(in(1)));
        Step partial = step(scratch(1), List.of(in(0), scratch(0)), 0);
        Step again = step(scratch(0), List.of(in(2)), 0);
        assertRefused(allReduce(false, early, partial, again), "step 2", "overwrites 0.scratch", "step 1, which reads");
        Step unorderedWrite = step(scratch(0), List.of(in(2)));
        assertRefused(allReduce(false, early, unorderedWrite), "step 1", "overwrites", "step 0, which writes");
    }

    @Test
    void duplicatedAndMissingContributions() {
        Step twice = step(out(1), List.of(in(1), in(0), in(2), in(0)));
        assertRefused(allReduce(false, twice, TO_0, TO_2), "rank 0 contributes more than once");
        Step missing = step(out(1), List.of(in(1), in(0)));
        assertRefused(allReduce(false, missing, TO_0, TO_2), "0.out[0..16)", "holds 1 + 0");
    }

    @Test
    void differentOrdersOfSummation() {
        assertRefused(
                allReduce(false, SUM, step(out(0), List.of(in(0), in(1), in(2))), step(out(2), List.of(out(1)), 0)),
                "ranks 0 and 1 sum in different orders",
                "0 + 1 + 2",
                "1 + 0 + 2");
    }

    @Test
    void undefinedMemory() {
        assertRefused(
                allReduce(false, step(out(1), List.of(in(1), scratch(0), in(2)))),
                "step 0",
                "0.scratch[0..16), which nothing has written");
        assertRefused(allReduce(false, step(out(1), List.of(out(0)))), "0.out[0..16), which nothing has written");
        assertRefused(
                schedule(Collective.BROADCAST, 0, true, new Chunk(BYTES, List.of(step(out(2), List.of(out(1)))))),
                "1.out[0..16), which nothing has written");
    }

    @Test
    void uncoveredOutput() {
        assertRefused(allReduce(false, SUM, TO_0), "2.out[0..16) is never written");
        assertRefused(allReduce(true, SUM, TO_0), "2.out[0..16) holds 2");
        assertRefused(schedule(Collective.BROADCAST, 0, true), "1.out[0..16) is never written");
        assertRefused(schedule(Collective.ALL_GATHER, -1, true), "0.out[16..48) is never written");
    }

    @Test
    void writtenInputs() {
        assertRefused(allReduce(false, step(in(1), List.of(in(1), in(0), in(2)))), "writes to an input, 1.in[0..16)");
        Step intoOtherRank = step(in(2), List.of(in(2), in(0), in(1)));
        Step toRoot = step(out(1), List.of(in(2)), 0);
        assertRefused(
                schedule(Collective.REDUCE, 1, true, new Chunk(BYTES, List.of(intoOtherRank, toRoot))),
                "writes to an input, 2.in[0..16)");
    }

    @Test
    void outOfBoundsAndMisaligned() {
        assertRefused(
                allReduce(false, step(new Location(1, Space.OUTPUT, 4), List.of(in(1)))), "1.out[4..20) is outside");
        assertRefused(allReduce(false, step(out(3), List.of(in(1)))), "3.out[0..16) is outside");
        assertRefused(
                schedule(Collective.BROADCAST, 0, false, new Chunk(BYTES, List.of(step(out(1), List.of(in(2)))))),
                "2.in[0..16) is outside");
        Step odd = step(new Location(1, Space.OUTPUT, 2), List.of(in(1)));
        assertRefused(
                schedule(Collective.ALL_REDUCE, -1, false, new Chunk(8, List.of(odd))),
                "1.out[2..10)",
                "multiple of the element size");
        assertRefused(schedule(Collective.ALL_REDUCE, -1, false, new Chunk(6, List.of())), "6 bytes is not a multiple");
    }

    @Test
    void shiftedElements() {
        Step shifted = step(
                out(1),
                List.of(
                        new Location(1, Space.INPUT, 0),
                        new Location(0, Space.INPUT, 4),
                        new Location(2, Space.INPUT, 0)));
        assertRefused(
                schedule(Collective.ALL_REDUCE, -1, false, new Chunk(8, List.of(shifted))),
                "combines different elements",
                "0.in[4..12) those from 4");
        Step wrongBlock = step(new Location(0, Space.OUTPUT, 16), List.of(in(2)));
        assertRefused(allGatherWith(wrongBlock), "0.out[16..32) holds 2");
    }

    private static Schedule allGatherWith(Step wrong) {
        List<Chunk> chunks = new ArrayList<>();
        for (int rank = 0; rank < 3; rank++) {
            for (int owner = 0; owner < 3; owner++) {
                Step right = step(new Location(rank, Space.OUTPUT, owner * BYTES), List.of(in(owner)));
                chunks.add(new Chunk(BYTES, List.of(rank == 0 && owner == 1 ? wrong : right)));
            }
        }
        return schedule(Collective.ALL_GATHER, -1, false, chunks.toArray(Chunk[]::new));
    }

    @Test
    void targetThatIsALaterSource() {
        Step copy = step(out(1), List.of(in(0)));
        Step into = step(out(1), List.of(in(1), out(1), in(2)), 0);
        assertRefused(allReduce(false, copy, into), "target is also a source other than the first");
        assertRefused(allReduce(true, step(out(1), List.of(in(0), in(1), in(2)))), "source other than the first");
    }

    @Test
    void overlapWithinAChunk() {
        Step left = step(scratch(1), List.of(in(1)));
        Step right = step(new Location(1, Space.SCRATCH, 4), List.of(in(0)), 0);
        assertRefused(
                schedule(Collective.ALL_REDUCE, -1, false, new Chunk(8, List.of(left, right))),
                "1.scratch[4..12) of chunk 0",
                "1.scratch[0..8) of chunk 0",
                "overlap");
    }

    @Test
    void overlapAcrossChunks() {
        Chunk whole = new Chunk(BYTES, List.of(SUM, TO_0, TO_2));
        Chunk half = new Chunk(8, List.of(step(new Location(0, Space.SCRATCH, 8), List.of(in(2)))));
        Chunk otherHalf = new Chunk(12, List.of(step(new Location(0, Space.SCRATCH, 4), List.of(in(1)))));
        ScheduleVerifier.verify(schedule(Collective.ALL_REDUCE, -1, false, whole, half));
        assertRefused(
                schedule(Collective.ALL_REDUCE, -1, false, whole, half, otherHalf),
                "0.scratch[8..16) of chunk 1",
                "0.scratch[4..16) of chunk 2",
                "overlap");
    }

    @Test
    void overlapThroughInPlaceBlocks() {
        // Rank 0 owns block 0. Its step and the reader of its input in another chunk touch the same bytes.
        Chunk owned = new Chunk(BYTES, List.of(step(out(0), List.of(in(0), in(1), in(2)))));
        Chunk reader = new Chunk(BYTES, List.of(step(scratch(2), List.of(in(0)))));
        assertRefused(
                schedule(Collective.REDUCE_SCATTER, -1, true, owned, reader), "0.in[0..16)", "chunk 1", "overlap");
        // Rank 1's output is its block 1; block 0 is only input.
        Chunk wrongBlock = new Chunk(BYTES, List.of(step(in(1), List.of(in(1), in(0), in(2)))));
        assertRefused(schedule(Collective.REDUCE_SCATTER, -1, true, wrongBlock), "writes to an input, 1.in[0..16)");
    }

    @Test
    void reductionWithoutAnOperation() {
        assertRefused(
                schedule(
                        Collective.ALL_GATHER,
                        -1,
                        false,
                        new Chunk(BYTES, List.of(step(out(0), List.of(in(0), in(1)))))),
                "all_gather has no operation");
    }

    @Test
    void collectsAtMostTwentyViolations() {
        Chunk bad = new Chunk(BYTES, List.of(step(out(1), List.of(out(0)))));
        Chunk[] many = new Chunk[50];
        Arrays.fill(many, bad);
        assertThatExceptionOfType(ScheduleException.class)
                .isThrownBy(() -> ScheduleVerifier.verify(schedule(Collective.ALL_REDUCE, -1, false, many)))
                .withMessageContaining("and 19 more")
                .satisfies(e -> assertThat(e.violations()).hasSize(20));
    }

    @Test
    void prints() {
        assertThat(SchedulePrinter.print(allReduce(false, SUM, TO_0, TO_2)).lines())
                .containsExactly(
                        "by hand all_reduce: 3 ranks, 4 elements of 4 bytes, out of place, 16 bytes of scratch,"
                                + " 1 chunks",
                        "chunk 0: 16 bytes",
                        "  0: 1.out[0..16) = 1.in[0..16) + 0.in[0..16) + 2.in[0..16)",
                        "  1: 0.out[0..16) = 1.out[0..16) after 0",
                        "  2: 2.out[0..16) = 1.out[0..16) after 0");
    }
}
