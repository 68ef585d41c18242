package dev.banyan.schedule.internal.program;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/**
 * Follows which loops get how far, without data. What a loop waits for never goes back, so that the order in which
 * blocks go on does not matter: if one order comes to the end, all do.
 */
final class Progress {
    /** The position of a block. */
    private static final class Position {
        private final List<Grid.Loop> loops;
        private int loop;

        Position(List<Grid.Loop> loops) {
            this.loops = loops;
        }

        boolean hasEnded() {
            return loop == loops.size();
        }
    }

    private final int[] slices;
    private final int slots;
    private final List<Position> positions = new ArrayList<>();
    /** Index of the block of each move. */
    private final int[][] blockOf;

    private final boolean[][] begun;
    private final int[][] done;
    /** For each move of each lane, the channels to it and from it. */
    private final List<List<List<Channel>>> channels = new ArrayList<>();

    Progress(DeviceProgram program, Grid grid, int[] slices, int slots) {
        this.slices = slices.clone();
        this.slots = slots;
        int lanes = program.lanes().size();
        blockOf = new int[lanes][];
        begun = new boolean[lanes][];
        done = new int[lanes][];
        for (int l = 0; l < lanes; l++) {
            Lane lane = program.lanes().get(l);
            int moves = lane.moves().size();
            blockOf[l] = new int[moves];
            begun[l] = new boolean[moves];
            done[l] = new int[moves];
            // Further slices repeat what these do.
            this.slices[l] = Math.min(slices[l], 2 * slots + 2);
            List<List<Channel>> ofMoves = new ArrayList<>();
            for (int m = 0; m < moves; m++) {
                ofMoves.add(new ArrayList<>());
            }
            for (Channel channel : lane.channels()) {
                ofMoves.get(channel.from()).add(channel);
                ofMoves.get(channel.to()).add(channel);
            }
            channels.add(ofMoves);
        }
        for (List<List<Grid.Loop>> rank : grid.blocks()) {
            for (List<Grid.Loop> block : rank) {
                for (Grid.Loop loop : block) {
                    blockOf[loop.lane()][loop.move()] = positions.size();
                }
                positions.add(new Position(block));
            }
        }
    }

    /** @throws IllegalArgumentException if a block waits for ever */
    void run() {
        ArrayDeque<Integer> ready = new ArrayDeque<>();
        for (int block = 0; block < positions.size(); block++) {
            ready.add(block);
        }
        while (!ready.isEmpty()) {
            advance(positions.get(ready.remove()), ready);
        }
        for (Position position : positions) {
            if (!position.hasEnded()) {
                Grid.Loop loop = position.loops.get(position.loop);
                throw new IllegalArgumentException(
                        "the block of " + loop + " waits for ever before slice " + done[loop.lane()][loop.move()]);
            }
        }
    }

    private void advance(Position position, ArrayDeque<Integer> ready) {
        while (!position.hasEnded()) {
            int lane = position.loops.get(position.loop).lane();
            int move = position.loops.get(position.loop).move();
            boolean changed = !begun[lane][move];
            begun[lane][move] = true;
            while (done[lane][move] < slices[lane] && mayGoOn(lane, move)) {
                done[lane][move]++;
                changed = true;
            }
            if (changed) {
                for (Channel channel : channels.get(lane).get(move)) {
                    ready.add(blockOf[lane][channel.from() == move ? channel.to() : channel.from()]);
                }
            }
            if (done[lane][move] < slices[lane]) {
                return;
            }
            position.loop++;
        }
    }

    private boolean mayGoOn(int lane, int move) {
        int slice = done[lane][move];
        for (Channel channel : channels.get(lane).get(move)) {
            boolean may = channel.to() == move
                    ? done[lane][channel.from()] > slice
                    : switch (channel.kind()) {
                        case SLOTS -> begun[lane][channel.to()] && done[lane][channel.to()] > slice - slots;
                        case ORDER -> true;
                    };
            if (!may) {
                return false;
            }
        }
        return true;
    }
}
