package dev.banyan.schedule;

import dev.banyan.schedule.type.Collective;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.Random;

/**
 * Runs a schedule on random data in one random order that its dependencies allow, each chunk cut into
 * random pieces, and compares every element with what the collective should give. It shares no code with the
 * verifier. An element is a pair: a 64-bit number whose operation is a wrapping sum, and a hash of the
 * expression that made it.
 */
final class Interpreter {
    private static final long GARBAGE = 0x5deece66dL;

    private final Schedule schedule;
    private final Random random;
    private final int n;
    private final int count;
    /** Per rank: number and hash of each element. */
    private final long[][][] inputs;

    private final long[][][] outputs;
    private final long[][][] scratch;
    private final long[][][] originals;

    private Interpreter(Schedule schedule, Random random) {
        this.schedule = schedule;
        this.random = random;
        n = schedule.ranks();
        count = Math.toIntExact(schedule.count());
        inputs = new long[n][][];
        outputs = new long[n][][];
        scratch = new long[n][][];
        originals = new long[n][][];
        for (int rank = 0; rank < n; rank++) {
            inputs[rank] = filled((int) schedule.collective().inputElements(count, n));
            originals[rank] = copy(inputs[rank]);
            outputs[rank] = filled((int) schedule.collective().outputElements(count, n));
            scratch[rank] = filled((int) (schedule.scratchBytes() / schedule.elementBytes()));
        }
    }

    /**
     * Runs it.
     *
     * @return what is wrong with the outputs or inputs afterwards; empty if nothing
     */
    static String run(Schedule schedule, Random random) {
        Interpreter interpreter = new Interpreter(schedule, random);
        if (schedule.inPlace()) {
            interpreter.alias();
        }
        interpreter.execute();
        return interpreter.complaint();
    }

    private long[][] filled(int elements) {
        long[][] memory = new long[elements][];
        Arrays.setAll(memory, i -> new long[] {random.nextLong(), random.nextLong() ^ GARBAGE});
        return memory;
    }

    private static long[][] copy(long[][] memory) {
        return Arrays.stream(memory).map(long[]::clone).toArray(long[][]::new);
    }

    /** In place the larger of the two is the buffer; elements are shared by reference. */
    private void alias() {
        for (int rank = 0; rank < n; rank++) {
            switch (schedule.collective()) {
                case REDUCE_SCATTER -> System.arraycopy(inputs[rank], rank * count, outputs[rank], 0, count);
                case ALL_GATHER -> System.arraycopy(inputs[rank], 0, outputs[rank], rank * count, count);
                case ALL_REDUCE, REDUCE, BROADCAST -> System.arraycopy(inputs[rank], 0, outputs[rank], 0, count);
            }
        }
    }

    private record Piece(Chunk chunk, int from, int to, BitSet done) {}

    private void execute() {
        List<Piece> pieces = new ArrayList<>();
        for (Chunk chunk : schedule.chunks()) {
            int elements = (int) (chunk.bytes() / schedule.elementBytes());
            for (int from = 0; from < elements; ) {
                int to = from + 1 + random.nextInt(elements - from);
                pieces.add(new Piece(chunk, from, to, new BitSet()));
                from = to;
            }
        }
        while (!pieces.isEmpty()) {
            int chosen = random.nextInt(pieces.size());
            if (!advance(pieces.get(chosen))) {
                pieces.remove(chosen);
            }
        }
    }

    private boolean advance(Piece piece) {
        List<Integer> ready = new ArrayList<>();
        for (int i = 0; i < piece.chunk.steps().size(); i++) {
            if (!piece.done.get(i)
                    && piece.chunk.steps().get(i).after().stream().allMatch(piece.done::get)) {
                ready.add(i);
            }
        }
        if (ready.isEmpty()) {
            return false;
        }
        int chosen = ready.get(random.nextInt(ready.size()));
        Step step = piece.chunk.steps().get(chosen);
        for (int e = piece.from; e < piece.to; e++) {
            long[] target = element(step.target(), e);
            long[] first = element(step.sources().getFirst(), e).clone();
            for (int k = 1; k < step.sources().size(); k++) {
                long[] next = element(step.sources().get(k), e);
                first[0] += next[0];
                first[1] = Long.rotateLeft(first[1] * 0x9e3779b97f4a7c15L, 17) ^ next[1];
            }
            if (step.reduces()) {
                first[1] = (first[1] + step.sources().size()) * 0xc2b2ae3d27d4eb4fL;
            }
            target[0] = first[0];
            target[1] = first[1];
        }
        piece.done.set(chosen);
        return true;
    }

    private long[] element(Location location, int e) {
        long[][] memory = switch (location.space()) {
            case INPUT -> inputs[location.rank()];
            case OUTPUT -> outputs[location.rank()];
            case SCRATCH -> scratch[location.rank()];
        };
        return memory[(int) (location.offset() / schedule.elementBytes()) + e];
    }

    private String complaint() {
        for (int rank = 0; rank < n; rank++) {
            boolean hasOutput = schedule.collective() != Collective.REDUCE || rank == schedule.root();
            for (int e = 0; hasOutput && e < outputs[rank].length; e++) {
                if (outputs[rank][e][0] != expected(rank, e)) {
                    return "element " + e + " of rank " + rank + " is wrong";
                }
                if (schedule.collective() == Collective.ALL_REDUCE && outputs[rank][e][1] != outputs[0][e][1]) {
                    return "element " + e + " is made differently on ranks 0 and " + rank;
                }
            }
            for (int e = 0; e < inputs[rank].length; e++) {
                if (!isOverwritten(rank, e) && inputs[rank][e][0] != originals[rank][e][0]) {
                    return "input element " + e + " of rank " + rank + " has changed";
                }
            }
        }
        return "";
    }

    private boolean isOverwritten(int rank, int e) {
        return schedule.inPlace()
                && switch (schedule.collective()) {
                    case ALL_REDUCE -> true;
                    case REDUCE -> rank == schedule.root();
                    case REDUCE_SCATTER -> e / count == rank;
                    case BROADCAST -> rank != schedule.root();
                    case ALL_GATHER -> false;
                };
    }

    private long expected(int rank, int e) {
        return switch (schedule.collective()) {
            case ALL_REDUCE, REDUCE -> sum(e);
            case REDUCE_SCATTER -> sum(rank * count + e);
            case BROADCAST -> originals[schedule.root()][e][0];
            case ALL_GATHER -> originals[e / count][e % count][0];
        };
    }

    private long sum(int e) {
        return Arrays.stream(originals).mapToLong(input -> input[e][0]).sum();
    }
}
