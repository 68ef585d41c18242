package dev.banyan.schedule.internal.program;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;

/**
 * The assignment of moves to blocks, which repeat them. Each block takes its loops one after another, and moves of one
 * lane and rank are in different blocks. As all blocks take lanes in the same order, and a move waits only for moves
 * before it and for slots of earlier slices, blocks that all run at once cannot wait for each other in a circle.
 *
 * @param blocks for each rank, its blocks; for each block, its loops in ascending order of lanes
 */
public record Grid(List<List<List<Loop>>> blocks) {
    /**
     * A move that a block repeats for all slices of a lane.
     *
     * @param lane index in the program
     * @param move index in the lane
     */
    public record Loop(int lane, int move) {}

    public Grid {
        blocks = blocks.stream()
                .map(rank -> rank.stream().map(List::copyOf).toList())
                .toList();
    }

    /**
     * Gives each lane's moves blocks of their own as long as there are enough, and then lets neighbouring lanes share
     * blocks, about as many bytes in each. Neighbours are of one tree or ring. So blocks take all trees at once, and no
     * link idles until others have ended.
     *
     * @param program the program
     * @param most greatest number of blocks of a rank
     * @throws IllegalArgumentException if a lane alone has more moves on a rank
     */
    public static Grid of(DeviceProgram program, int most) {
        int ranks = program.schedule().ranks();
        int[][] moves = new int[program.lanes().size()][ranks];
        for (int lane = 0; lane < moves.length; lane++) {
            for (Move move : program.lanes().get(lane).moves()) {
                moves[lane][move.rank()]++;
            }
        }
        List<List<List<Loop>>> blocks = new ArrayList<>();
        for (int rank = 0; rank < ranks; rank++) {
            blocks.add(blocks(program, rank, moves, most));
        }
        return new Grid(blocks);
    }

    private static List<List<Loop>> blocks(DeviceProgram program, int rank, int[][] moves, int most) {
        int all = 0;
        int widest = 1;
        for (int[] lane : moves) {
            all += lane[rank];
            widest = Math.max(widest, lane[rank]);
        }
        if (widest > most) {
            throw new IllegalArgumentException(
                    "rank " + rank + " has " + widest + " moves of one lane, but at most " + most + " blocks");
        }
        int groups = most / widest;
        long bytes = program.lanes().stream().mapToLong(Lane::bytes).sum();
        long before = 0;
        List<List<Loop>> blocks = new ArrayList<>();
        for (int lane = 0; lane < moves.length; lane++) {
            long length = program.lanes().get(lane).bytes();
            int next = all <= most ? blocks.size() : (int) ((before + length / 2) * groups / bytes) * widest;
            before += length;
            for (int m : movesOf(program.lanes().get(lane), rank)) {
                while (blocks.size() <= next) {
                    blocks.add(new ArrayList<>());
                }
                blocks.get(next++).add(new Loop(lane, m));
            }
        }
        return blocks.stream().filter(block -> !block.isEmpty()).toList();
    }

    private static List<Integer> movesOf(Lane lane, int rank) {
        List<Integer> indices = new ArrayList<>();
        for (int m = 0; m < lane.moves().size(); m++) {
            if (lane.moves().get(m).rank() == rank) {
                indices.add(m);
            }
        }
        return indices;
    }

    /** Returns the greatest number of blocks of a rank. */
    public int widest() {
        return blocks.stream()
                .max(Comparator.comparingInt(List::size))
                .orElseThrow()
                .size();
    }

    /**
     * Returns the block of each move, or -1 where no block has it.
     *
     * @return for each lane, for each of its moves
     */
    public int[][] blockOf(DeviceProgram program) {
        int[][] blockOf = new int[program.lanes().size()][];
        for (int lane = 0; lane < blockOf.length; lane++) {
            blockOf[lane] = new int[program.lanes().get(lane).moves().size()];
            Arrays.fill(blockOf[lane], -1);
        }
        for (List<List<Loop>> ofRank : blocks) {
            for (int block = 0; block < ofRank.size(); block++) {
                for (Loop loop : ofRank.get(block)) {
                    blockOf[loop.lane()][loop.move()] = block;
                }
            }
        }
        return blockOf;
    }
}
