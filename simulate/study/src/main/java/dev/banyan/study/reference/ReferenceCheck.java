package dev.banyan.study.reference;

import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.SplittableRandom;
import java.util.stream.IntStream;

/**
 * Seeded inputs of every rank, and how many elements of the outputs are not what a collective must make
 * of them.
 *
 * <p>The reference is computed in 64 bits, as if by one rank in rank order. Integers, copies, minima and
 * maxima must be equal to it; floating-point sums, means and products over n ranks must be within n ulp
 * of the type at the magnitude of what was added up.
 *
 * <p>Element {@code i} of rank {@code r} is element {@code (i + phase) mod p} of a random tile. The
 * length {@code p} of long tiles is prime, so that no chunk that landed in a wrong place goes unseen;
 * another phase gives fresh inputs at the cost of a copy.
 *
 * <p>Immutable after construction; methods use all cores.
 */
public final class ReferenceCheck {
    private static final int LONGEST_TILE = 1_000_003;

    private final DataType type;
    private final ReduceOp op;
    private final Tile[] inputs;
    private final Tile reduced;

    /**
     * @param elements greatest number of elements of a buffer that will be asked for
     * @param seed the same seed gives the same inputs
     */
    public ReferenceCheck(DataType type, ReduceOp op, int ranks, long elements, long seed) {
        this.type = type;
        this.op = op;
        int length = Math.clamp(elements, 1, LONGEST_TILE);
        Arena arena = Arena.ofAuto();
        inputs = IntStream.range(0, ranks)
                .parallel()
                .mapToObj(rank -> randomTile(arena, length, new SplittableRandom(seed + rank * 0x9E3779B97F4A7C15L)))
                .toArray(Tile[]::new);
        reduced = type.isFloating() ? reduceFloats(arena, length) : reduceIntegers(arena, length);
    }

    /** Writes a rank's input: the elements from {@code first} on. */
    public void fill(MemorySegment segment, int rank, long first, long phase) {
        inputs[rank].copyTo(segment, first + phase);
    }

    /** Number of elements of a rank's input that are no longer as {@link #fill} wrote them. */
    public long changed(MemorySegment segment, int rank, long first, long phase) {
        return inputs[rank].wrong(segment, first + phase);
    }

    /**
     * Number of wrong elements in a rank's output.
     *
     * @param count elements, as {@link Collective} counts them
     * @param root the root, or -1
     */
    public long wrong(Collective collective, MemorySegment output, int rank, int root, long count, long phase) {
        return switch (collective) {
            case ALL_REDUCE, REDUCE -> reduced.wrong(output, phase);
            case REDUCE_SCATTER -> reduced.wrong(output, rank * count + phase);
            case BROADCAST -> inputs[root].wrong(output, phase);
            case ALL_GATHER -> {
                long bytes = count * type.bytes();
                yield IntStream.range(0, inputs.length)
                        .mapToLong(block -> inputs[block].wrong(output.asSlice(block * bytes, bytes), phase))
                        .sum();
            }
        };
    }

    private Tile randomTile(Arena arena, int length, SplittableRandom random) {
        MemorySegment values = allocate(arena, length);
        for (int i = 0; i < length; i++) {
            if (type.isFloating()) {
                // Neither small against the sum, where a lost one would pass, nor apt to overflow a product.
                double size = op == ReduceOp.PROD ? random.nextDouble(0.8, 1.25) : random.nextDouble(0.5, 1);
                Elements.putDouble(type, values, i, random.nextBoolean() ? size : -size);
            } else {
                // Seven bits less for means of 64-bit integers: their reference is a sum that must fit.
                boolean wide = op == ReduceOp.AVG && type == DataType.I64;
                Elements.putLong(type, values, i, wide ? random.nextLong() >> 7 : random.nextLong());
            }
        }
        return new Tile(type, values, null);
    }

    private Tile reduceIntegers(Arena arena, int length) {
        MemorySegment values = allocate(arena, length);
        for (int i = 0; i < length; i++) {
            long result = Elements.getLong(type, inputs[0].values(), i);
            for (int rank = 1; rank < inputs.length; rank++) {
                long next = Elements.getLong(type, inputs[rank].values(), i);
                result = switch (op) {
                    case SUM, AVG -> result + next;
                    case PROD -> result * next;
                    case MIN -> Math.min(result, next);
                    case MAX -> Math.max(result, next);
                };
            }
            Elements.putLong(type, values, i, op == ReduceOp.AVG ? result / inputs.length : result);
        }
        return new Tile(type, values, null);
    }

    private Tile reduceFloats(Arena arena, int length) {
        MemorySegment values = allocate(arena, length);
        double[] exact = new double[length];
        double[] tolerance = new double[length];
        for (int i = 0; i < length; i++) {
            double result = Elements.getDouble(type, inputs[0].values(), i);
            double magnitude = Math.abs(result);
            for (int rank = 1; rank < inputs.length; rank++) {
                double next = Elements.getDouble(type, inputs[rank].values(), i);
                result = switch (op) {
                    case SUM, AVG -> result + next;
                    case PROD -> result * next;
                    case MIN -> Math.min(result, next);
                    case MAX -> Math.max(result, next);
                };
                magnitude = op == ReduceOp.PROD ? Math.abs(result) : magnitude + Math.abs(next);
            }
            if (op == ReduceOp.AVG) {
                result /= inputs.length;
                magnitude /= inputs.length;
            }
            Elements.putDouble(type, values, i, result);
            exact[i] = result;
            tolerance[i] = inputs.length * Elements.ulp(type, magnitude);
        }
        boolean rounded = op == ReduceOp.SUM || op == ReduceOp.AVG || op == ReduceOp.PROD;
        return new Tile(type, values, rounded ? new Tile.Bounds(exact, tolerance) : null);
    }

    private MemorySegment allocate(Arena arena, int length) {
        return arena.allocate((long) length * type.bytes(), 64);
    }
}
