package dev.banyan.schedule.internal.program;

import dev.banyan.schedule.ScheduleProof;
import dev.banyan.schedule.ScheduleVerifier;
import java.util.HashMap;
import java.util.Map;

/**
 * Proves that a program on a grid does what its schedule says, however its blocks and slices run. It proves that
 *
 * <ul>
 *   <li>the program is right as a schedule: {@link ScheduleVerifier} follows its moves, with slots as memory that
 *     nobody else uses and channels as the only dependencies;
 *   <li>it combines elements in the schedule's order, hence with the same bits;
 *   <li>a mean is taken once of every element of the result, if the program says that it takes means;
 *   <li>exactly one block of the right rank has each move, lanes come in one order in all blocks, and no block has two
 *     moves of a lane;
 *   <li>all loops end, with as many slots as there are: no block waits for ever for data, for a slot, or for another
 *     block to begin with a lane. All blocks of all ranks must run at once for that.
 * </ul>
 *
 * <p>A slot is used again only when its receiver has given it back, and then by the same channel, so that it needs no
 * further proof.
 */
public final class ProgramVerifier {
    private final DeviceProgram program;

    private ProgramVerifier(DeviceProgram program) {
        this.program = program;
    }

    /**
     * Verifies a program.
     *
     * @param program the program
     * @param grid where its moves are
     * @param slices of each lane
     * @param slots of each channel
     * @return the figures of the proof of what the program does
     * @throws dev.banyan.schedule.ScheduleException if a lane is wrong
     * @throws IllegalArgumentException if the program, taken as a whole, is wrong; the message says where
     */
    public static ScheduleProof verify(DeviceProgram program, Grid grid, int[] slices, int slots) {
        ProgramVerifier verifier = new ProgramVerifier(program);
        ScheduleProof proof = ScheduleVerifier.verify(ProgramSchedule.of(program));
        verifier.checkOrder(proof);
        if (program.takesMeans()) {
            verifier.checkMeans();
        }
        verifier.checkBlocks(grid);
        new Progress(program, grid, slices, slots).run();
        return proof;
    }

    private void checkOrder(ScheduleProof proof) {
        ScheduleProof original = ScheduleVerifier.verify(program.schedule());
        if (!original.summations().equals(proof.summations())) {
            throw new IllegalArgumentException("the program combines elements in the order " + proof.summations()
                    + ", but its schedule in the order " + original.summations());
        }
    }

    private void checkMeans() {
        for (int index = 0; index < program.lanes().size(); index++) {
            checkMeans(index, program.lanes().get(index));
        }
    }

    /** Returns whether what is at an operand has been completed; what no move has written has not. */
    private void checkMeans(int index, Lane lane) {
        Map<Operand, Boolean> isComplete = new HashMap<>();
        for (Move move : lane.moves()) {
            boolean done = false;
            for (Operand input : move.inputs()) {
                done |= isComplete.getOrDefault(input, false);
            }
            if (done && (move.completes() || move.inputs().size() > 1)) {
                throw new IllegalArgumentException(
                        "step " + move.step() + " of lane " + index + " combines or divides what is divided already");
            }
            boolean complete = done || move.completes();
            for (Operand output : move.outputs()) {
                isComplete.put(output, complete);
            }
        }
        isComplete.forEach((place, done) -> {
            if (!done
                    && place instanceof Operand.Local local
                    && program.schedule().hasResultAt(local.location())) {
                throw new IllegalArgumentException(
                        "lane " + index + " never divides the result at " + local.location());
            }
        });
    }

    private void checkBlocks(Grid grid) {
        int[][] seen = new int[program.lanes().size()][];
        for (int lane = 0; lane < seen.length; lane++) {
            seen[lane] = new int[program.lanes().get(lane).moves().size()];
        }
        for (int rank = 0; rank < grid.blocks().size(); rank++) {
            for (var block : grid.blocks().get(rank)) {
                int last = -1;
                for (Grid.Loop loop : block) {
                    Move move = program.lanes().get(loop.lane()).moves().get(loop.move());
                    if (move.rank() != rank || loop.lane() <= last) {
                        throw new IllegalArgumentException("a block of rank " + rank + " has " + loop
                                + ", a move of rank " + move.rank() + ", behind lane " + last);
                    }
                    last = loop.lane();
                    seen[loop.lane()][loop.move()]++;
                }
            }
        }
        for (int lane = 0; lane < seen.length; lane++) {
            for (int move = 0; move < seen[lane].length; move++) {
                if (seen[lane][move] != 1) {
                    throw new IllegalArgumentException(
                            "move " + move + " of lane " + lane + " is in " + seen[lane][move] + " blocks");
                }
            }
        }
    }
}
