package dev.banyan.msccl;

import dev.banyan.InputException;
import dev.banyan.msccl.Algo.Instruction;
import dev.banyan.schedule.Location;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Checks that any two steps that touch the same chunk of memory, one of them writing, are ordered by
 * threadblocks, dependencies and transfers, so that every execution gives the same result. By vector clocks:
 * each threadblock knows how many steps of every other are done for certain.
 *
 * <p>Source: C. Flanagan, S. N. Freund, "FastTrack: efficient and precise dynamic race detection", PLDI 2009, <a
 * href="https://doi.org/10.1145/1542476.1542490">doi:10.1145/1542476.1542490</a>.
 */
final class RaceCheck {
    private static final class Accesses {
        final List<Integer> readers = new ArrayList<>(2);
        int writer = Program.NONE;
    }

    private final Program program;
    private final Cells cells;
    private final Map<Location, Accesses> accesses = new HashMap<>();
    /** By threadblock: number of steps of each threadblock that are done. */
    private final int[][] clocks;
    /** By step: its threadblock's clock when it was done, where another may wait for it. */
    private final int[][] done;

    private RaceCheck(Program program, Cells cells) {
        this.program = program;
        this.cells = cells;
        clocks = new int[program.blocks()][program.blocks()];
        done = new int[program.size()][];
    }

    /**
     * Checks it.
     *
     * @param order an order of execution
     * @throws InputException if two steps are not ordered
     */
    static void check(Program program, Cells cells, int[] order) {
        RaceCheck check = new RaceCheck(program, cells);
        for (int step : order) {
            check.follow(step);
        }
    }

    private void follow(int step) {
        Program.Node node = program.node(step);
        Instruction instruction = node.instruction();
        int[] clock = clocks[node.block()];
        join(clock, program.dependency(step));
        join(clock, program.sender(step));
        for (int k = 0; k < instruction.count(); k++) {
            if (instruction.opcode().readsSource) {
                read(step, cells.at(node.rank(), instruction.sourceSpace(), instruction.sourceOffset() + k), clock);
            }
            if (instruction.opcode().writesTarget) {
                write(step, cells.at(node.rank(), instruction.targetSpace(), instruction.targetOffset() + k), clock);
            }
        }
        clock[node.block()] = node.index() + 1;
        if (instruction.awaited() || instruction.opcode().sends) {
            done[step] = clock.clone();
        }
    }

    private void join(int[] clock, int before) {
        if (before == Program.NONE) {
            return;
        }
        int[] other = done[before];
        for (int i = 0; i < clock.length; i++) {
            clock[i] = Math.max(clock[i], other[i]);
        }
    }

    private void read(int step, Location cell, int[] clock) {
        Accesses known = accesses.computeIfAbsent(cell, _ -> new Accesses());
        checkAfter(step, known.writer, cell, clock);
        known.readers.add(step);
    }

    private void write(int step, Location cell, int[] clock) {
        Accesses known = accesses.computeIfAbsent(cell, _ -> new Accesses());
        checkAfter(step, known.writer, cell, clock);
        for (int reader : known.readers) {
            checkAfter(step, reader, cell, clock);
        }
        known.readers.clear();
        known.writer = step;
    }

    private void checkAfter(int step, int earlier, Location cell, int[] clock) {
        if (earlier == Program.NONE || earlier == step) {
            return;
        }
        Program.Node other = program.node(earlier);
        if (clock[other.block()] <= other.index()) {
            throw program.wrong(
                    program.node(step),
                    "and " + other + " both touch chunk " + cell.offset() + " of buffer "
                            + AlgoXml.label(cell.space())
                            + ", one of them writes it, and neither waits for the other; add a"
                            + " dependency (depid, deps, hasdep)");
        }
    }
}
