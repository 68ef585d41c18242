package dev.banyan.schedule;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class ChunkJoinTest {
    private static final List<Integer> NONE = List.of();

    @Test
    void chunksThatTakeTurnsAreJoined() {
        List<Chunk> chunks = List.of(
                chunk(8, step(0, 1, 0, NONE)),
                chunk(4, step(1, 0, 100, NONE)),
                chunk(8, step(0, 1, 8, NONE)),
                chunk(4, step(1, 0, 104, NONE)),
                chunk(4, step(0, 1, 16, NONE)));
        assertThat(ChunkJoin.joined(chunks))
                .containsExactly(chunk(20, step(0, 1, 0, NONE)), chunk(8, step(1, 0, 100, NONE)));
    }

    @Test
    void chunksOfOtherStepsOrPlacesStayApart() {
        Step second = step(1, 2, 0, NONE);
        List<Chunk> chunks = List.of(
                chunk(8, step(0, 1, 0, NONE), second),
                chunk(8, step(0, 1, 8, NONE)), // fewer steps
                chunk(8, step(0, 1, 24, NONE)), // a gap
                chunk(8, step(0, 2, 32, NONE)), // another rank
                chunk(8, step(0, 2, 40, NONE, Space.SCRATCH))); // another space
        assertThat(ChunkJoin.joined(chunks)).isEqualTo(chunks);
    }

    @Test
    void chunksWhoseStepsWaitForOthersStayApart() {
        List<Chunk> chunks = List.of(
                chunk(8, step(0, 1, 0, NONE), step(1, 2, 0, List.of(0))),
                chunk(8, step(0, 1, 8, NONE), step(1, 2, 8, NONE)));
        assertThat(ChunkJoin.joined(chunks)).isEqualTo(chunks);
    }

    private static Chunk chunk(long bytes, Step... steps) {
        return new Chunk(bytes, List.of(steps));
    }

    private static Step step(int from, int to, long offset, List<Integer> after) {
        return step(from, to, offset, after, Space.OUTPUT);
    }

    private static Step step(int from, int to, long offset, List<Integer> after, Space target) {
        return new Step(List.of(new Location(from, Space.OUTPUT, offset)), new Location(to, target, offset), after);
    }
}
