package dev.banyan.cli.bench;

import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;

/**
 * Reproducible sums and means of pseudo-random numbers by {@value #RANKS} ranks, and the SHA-256 of their results,
 * which is the same for all algorithms, backends and numbers of processes. The numbers come from {@link Random}, whose
 * algorithm is specified, so that all machines have the same.
 */
final class SumDigest {
    static final int RANKS = 8;
    private static final List<DataType> TYPES = List.of(DataType.F32, DataType.F64, DataType.F16, DataType.BF16);
    /** One, fewer than the ranks, one more than a block of the host, and three more than a block of a kernel. */
    private static final int[] COUNTS = {1, 5, 1025, 4099};

    private static final List<Collective> COLLECTIVES =
            List.of(Collective.ALL_REDUCE, Collective.REDUCE, Collective.REDUCE_SCATTER);
    private static final int COUNT_IN_PLACE = 1025;
    /** Divisible by the ranks, and long enough for each to make a share of the results. */
    private static final int LONG_COUNT = 1 << 18;

    private final Communicator communicator;
    private final MessageDigest digest;
    private long sums;

    SumDigest(Communicator communicator) {
        this.communicator = communicator;
        try {
            digest = MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java has SHA-256", e);
        }
    }

    /** Returns the digest of sums of every type, by every collective that reduces. */
    String run() {
        for (DataType type : TYPES) {
            for (ReduceOp op : List.of(ReduceOp.SUM, ReduceOp.AVG)) {
                for (int count : COUNTS) {
                    add(Collective.ALL_REDUCE, type, op, count, false);
                }
                for (Collective collective : COLLECTIVES) {
                    add(collective, type, op, COUNT_IN_PLACE, true);
                }
            }
        }
        add(Collective.ALL_REDUCE, DataType.F64, ReduceOp.SUM, LONG_COUNT, true);
        return HexFormat.of().formatHex(digest.digest());
    }

    /** Returns the number of sums of elements. */
    long sums() {
        return sums;
    }

    private void add(Collective collective, DataType type, ReduceOp op, int count, boolean inPlace) {
        int elements = (int) collective.inputElements(count, RANKS);
        long bytes = (long) elements * type.bytes();
        try (Arena arena = Arena.ofShared()) {
            MemorySegment host = arena.allocate(bytes, Long.BYTES);
            List<MemorySegment> inputs = allocated(bytes, arena);
            for (int i = 0; i < inputs.size(); i++) {
                fill(host, type, elements, new Random(31L * count + communicator.firstRank() + i));
                communicator.copyToDevice(inputs.get(i), host);
            }
            List<MemorySegment> outputs = inPlace ? inputs : allocated(bytes, arena);
            int root = collective.hasRoot() ? count % RANKS : -1;
            CollectiveCall call = CollectiveCall.of(collective, root, count, type, op, inputs);
            communicator.run(inPlace ? call : call.into(outputs));
            // Every process digests all results.
            if (collective == Collective.REDUCE) {
                communicator.run(CollectiveCall.of(Collective.BROADCAST, root, count, type, op, outputs));
            } else if (collective == Collective.REDUCE_SCATTER) {
                communicator.run(CollectiveCall.of(Collective.ALL_GATHER, -1, count, type, op, outputs));
            }
            byte[] first = null;
            for (MemorySegment output : outputs) {
                communicator.copyToHost(output, host);
                byte[] results = host.toArray(ValueLayout.JAVA_BYTE);
                // Equal results of further ranks, whose number depends on the processes, leave the digest as it is.
                if (!Arrays.equals(results, first)) {
                    digest.update(results);
                }
                first = results;
            }
            sums += elements;
        }
    }

    private List<MemorySegment> allocated(long bytes, Arena arena) {
        int first = communicator.firstRank();
        return IntStream.range(first, first + communicator.ranksHeld())
                .mapToObj(rank -> communicator.allocate(rank, bytes, arena))
                .toList();
    }

    /** Fills memory with numbers of similar exponents, of any, and with few special ones. */
    private static void fill(MemorySegment memory, DataType type, int elements, Random random) {
        for (int i = 0; i < elements; i++) {
            double similar = Math.scalb(random.nextDouble() - 0.5, random.nextInt(24) - 12);
            double value = i % 16 > 0
                    ? similar
                    : switch (random.nextInt(16)) {
                        case 0 -> Double.NaN;
                        case 1 -> Double.POSITIVE_INFINITY;
                        case 2 -> Double.NEGATIVE_INFINITY;
                        case 3 -> -0.0;
                        case 4 -> Float.MIN_VALUE;
                        case 5 -> Float.MAX_VALUE;
                        case 6 -> Double.MIN_VALUE;
                        case 7 -> Double.MAX_VALUE;
                        default -> Math.scalb(similar, random.nextInt(200) - 100);
                    };
            switch (type.bytes()) {
                case 8 -> memory.setAtIndex(ValueLayout.JAVA_DOUBLE, i, value);
                case 4 -> memory.setAtIndex(ValueLayout.JAVA_FLOAT, i, (float) value);
                default ->
                    memory.setAtIndex(
                            ValueLayout.JAVA_SHORT,
                            i,
                            type == DataType.F16
                                    ? Float.floatToFloat16((float) value)
                                    : (short) (Float.floatToRawIntBits((float) value) >>> Short.SIZE));
            }
        }
    }
}
