package dev.banyan.msccl;

import dev.banyan.msccl.Algo.Instruction;
import dev.banyan.schedule.Chunk;
import dev.banyan.schedule.Location;
import dev.banyan.schedule.Space;
import dev.banyan.schedule.Step;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

/**
 * Turns a program into steps over single MSCCL chunks. A transfer becomes one step of its receiver, which reads
 * from the sender's memory. Where what was sent is overwritten before the receiver takes it from the
 * connection's buffer, the buffer is made visible as scratch memory of the receiver. Used once.
 */
final class ScheduleBuilder {
    private static final class Access {
        final List<Integer> readers = new ArrayList<>(2);
        int writer = Program.NONE;
        /** Lowest rank that contributes to what is there. */
        int lowest;

        Access(int rank) {
            lowest = rank;
        }
    }

    private final Program program;
    private final Cells cells;
    private final int[] order;
    private final boolean sorted;
    private final boolean[] staged;
    /** The place of a step's first chunk to send, if it is not in its operands. */
    private final Map<Integer, Long> buffers = new HashMap<>();

    private final Map<Location, Access> accesses = new HashMap<>();
    private final List<Step> steps = new ArrayList<>();
    private final long[] scratch;

    /**
     * @param order an order of execution
     * @param scratchChunks MSCCL chunks of scratch memory that each rank has by itself
     * @param sorted whether the operand with the lowest contributing rank shall come first, whichever the file
     *     puts first; instructions commute, but a schedule's order is fixed
     */
    ScheduleBuilder(Program program, Cells cells, int[] order, int[] scratchChunks, boolean sorted) {
        this.program = program;
        this.cells = cells;
        this.order = order;
        this.sorted = sorted;
        scratch = new long[scratchChunks.length];
        for (int rank = 0; rank < scratch.length; rank++) {
            scratch[rank] = scratchChunks[rank];
        }
        staged = new boolean[program.size()];
    }

    /** Steps of bytes that stand for MSCCL chunks, as independent chunks. */
    List<Chunk> build() {
        findStaged();
        for (int step : order) {
            emit(step);
        }
        return ChunkAssembly.of(steps);
    }

    /** MSCCL chunks of scratch memory that a rank needs. */
    long scratchChunks() {
        long most = 0;
        for (long chunks : scratch) {
            most = Math.max(most, chunks);
        }
        return most;
    }

    /** Finds sends whose source is overwritten before it is received. */
    private void findStaged() {
        Map<Location, Integer> written = new HashMap<>();
        int[] position = new int[program.size()];
        for (int at = 0; at < order.length; at++) {
            int step = order[at];
            position[step] = at;
            Program.Node node = program.node(step);
            Instruction instruction = node.instruction();
            int sender = program.sender(step);
            for (int k = 0; k < instruction.count(); k++) {
                if (sender != Program.NONE
                        && program.node(sender).instruction().opcode() != Opcode.RECEIVE_REDUCE_SEND
                        && written.getOrDefault(sent(sender, k), -1) > position[sender]) {
                    staged[sender] = true;
                }
            }
            for (int k = 0; instruction.opcode().writesTarget && k < instruction.count(); k++) {
                written.put(target(node, k), at);
            }
        }
    }

    private void emit(int step) {
        Program.Node node = program.node(step);
        Instruction instruction = node.instruction();
        Opcode opcode = instruction.opcode();
        if (opcode == Opcode.RECEIVE_REDUCE_SEND) {
            buffers.put(step, allocate(node.rank(), instruction.count()));
        }
        for (int k = 0; k < instruction.count(); k++) {
            switch (opcode) {
                case COPY -> emit(List.of(source(node, k)), target(node, k));
                case REDUCE -> reduce(target(node, k), source(node, k), target(node, k));
                case RECEIVE, RECEIVE_COPY_SEND -> emit(List.of(received(step, k)), target(node, k));
                case RECEIVE_REDUCE_COPY, RECEIVE_REDUCE_COPY_SEND ->
                    reduce(source(node, k), received(step, k), target(node, k));
                case RECEIVE_REDUCE_SEND -> reduce(source(node, k), received(step, k), sent(step, k));
                case SEND, NOP -> {
                    // The receiver's step reads the data that is sent.
                }
            }
        }
        if (staged[step]) {
            int receiver = node.threadblock().send();
            long buffer = allocate(receiver, instruction.count());
            for (int k = 0; k < instruction.count(); k++) {
                emit(List.of(sent(step, k)), new Location(receiver, Space.SCRATCH, buffer + k));
            }
            buffers.put(step, buffer);
        }
    }

    private long allocate(int rank, int chunks) {
        long start = scratch[rank];
        scratch[rank] += chunks;
        return start;
    }

    private Location source(Program.Node node, int k) {
        Instruction instruction = node.instruction();
        return cells.at(node.rank(), instruction.sourceSpace(), instruction.sourceOffset() + k);
    }

    private Location target(Program.Node node, int k) {
        Instruction instruction = node.instruction();
        return cells.at(node.rank(), instruction.targetSpace(), instruction.targetOffset() + k);
    }

    /** Returns the location at the sender that a step sends. */
    private Location sent(int step, int k) {
        Program.Node node = program.node(step);
        return switch (node.instruction().opcode()) {
            case SEND -> source(node, k);
            case RECEIVE_REDUCE_SEND -> new Location(node.rank(), Space.SCRATCH, buffers.getOrDefault(step, 0L) + k);
            default -> target(node, k);
        };
    }

    /** Returns the location that a step receives from: at its sender, or in the connection's buffer. */
    private Location received(int step, int k) {
        int sender = program.sender(step);
        return staged[sender]
                ? new Location(program.node(step).rank(), Space.SCRATCH, buffers.getOrDefault(sender, 0L) + k)
                : sent(sender, k);
    }

    private void reduce(Location first, Location second, Location target) {
        if (!sorted || access(first).lowest <= access(second).lowest) {
            emit(List.of(first, second), target);
        } else if (!first.equals(target)) {
            emit(List.of(second, first), target);
        } else {
            // A target may only be the first operand.
            Location copy = new Location(target.rank(), Space.SCRATCH, allocate(target.rank(), 1));
            emit(List.of(first), copy);
            emit(List.of(second, copy), target);
        }
    }

    private void emit(List<Location> sources, Location target) {
        int index = steps.size();
        TreeSet<Integer> after = new TreeSet<>();
        for (Location source : sources) {
            Access access = access(source);
            after.add(access.writer);
            access.readers.add(index);
        }
        int lowest =
                sources.stream().mapToInt(source -> access(source).lowest).min().orElseThrow();
        Access access = access(target);
        access.lowest = lowest;
        after.add(access.writer);
        after.addAll(access.readers);
        after.remove(index);
        after.remove(Program.NONE);
        access.readers.clear();
        access.writer = index;
        steps.add(new Step(sources, target, List.copyOf(after)));
    }

    private Access access(Location location) {
        return accesses.computeIfAbsent(location, _ -> new Access(location.rank()));
    }
}
