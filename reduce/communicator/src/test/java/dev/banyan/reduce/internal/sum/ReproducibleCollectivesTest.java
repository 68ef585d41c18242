package dev.banyan.reduce.internal.sum;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.fail;

import dev.banyan.config.Config;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.internal.host.HostBackend;
import dev.banyan.reduce.internal.sum.SumOracle.Kind;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.Algorithms;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.plan.SizeRules;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.test.CoveringArray;
import dev.banyan.topology.Machine;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** With BANYAN_REPRODUCIBLE=1 every collective gives the bits of reproducible sums. */
class ReproducibleCollectivesTest {
    private static final int GUARD = 3;
    private static final long[] CHUNK_BYTES = {Long.MAX_VALUE, 4096};
    private static final List<Collective> COLLECTIVES =
            List.of(Collective.ALL_REDUCE, Collective.REDUCE, Collective.REDUCE_SCATTER);
    /** Elements repeat so many samples, a prime, so that no two blocks, chunks or shares begin with the same one. */
    private static final int SAMPLES = 509;

    /** 5,000 elements of all kinds, so that several blocks and threads take part; a count of blocks that is odd. */
    @ParameterizedTest
    @CsvSource({"F32, 8, 5000", "F32, 3, 1025", "F16, 5, 3001", "BF16, 4, 3001", "F64, 4, 3001"})
    void allAlgorithmsChunksAndThreadsGiveTheSameBits(DataType type, int ranks, int count) {
        SumOracle oracle = new SumOracle(type);
        Random random = new Random(ranks);
        Kind[] kinds = Kind.values();
        long[][] samples = IntStream.range(0, SAMPLES)
                .mapToObj(i -> oracle.sample(kinds[i % kinds.length], ranks, random))
                .toArray(long[][]::new);
        long[][] sums = {sums(type, false, samples), sums(type, true, samples)};
        int[] of = IntStream.range(0, ranks * count).map(i -> i % SAMPLES).toArray();
        long[][] values = Arrays.stream(of).mapToObj(i -> samples[i]).toArray(long[][]::new);
        long[][] expected = Arrays.stream(sums)
                .map(each -> Arrays.stream(of).mapToLong(i -> each[i]).toArray())
                .toArray(long[][]::new);
        List<AlgorithmChoice> algorithms = AlgorithmChoice.scheduled();
        for (int[] each : CoveringArray.ofPairs(algorithms.size(), CHUNK_BYTES.length, COLLECTIVES.size(), 2, 2)) {
            try (Communicator communicator = communicator(algorithms.get(each[0]), CHUNK_BYTES[each[1]], ranks)) {
                check(
                        communicator,
                        COLLECTIVES.get(each[2]),
                        type,
                        count,
                        each[3] == 1,
                        each[4] == 1,
                        values,
                        expected);
            }
        }
    }

    private static Communicator communicator(AlgorithmChoice algorithm, long chunkBytes, int ranks) {
        Config config = Config.builder()
                .set(Algorithms.REPRODUCIBLE, true)
                .set(Planner.ALGORITHM, SizeRules.always(algorithm))
                .set(Planner.CHUNK_BYTES, chunkBytes)
                .set(HostBackend.THREADS, chunkBytes == 4096 ? 1 : 3)
                .build();
        return Communicator.onHost(
                Machine.preset("p3.16xlarge").subset(IntStream.range(0, ranks).toArray()), config);
    }

    private static void check(
            Communicator communicator,
            Collective collective,
            DataType type,
            int count,
            boolean inPlace,
            boolean mean,
            long[][] values,
            long[][] expected) {
        int ranks = communicator.size();
        int root = collective.hasRoot() ? ranks - 1 : -1;
        int inputElements = (int) collective.inputElements(count, ranks);
        List<MemorySegment> inputs = IntStream.range(0, ranks)
                .mapToObj(rank -> filled(communicator, type, values, inputElements, rank))
                .toList();
        List<MemorySegment> outputs = inPlace
                ? inputs
                : IntStream.range(0, collective == Collective.REDUCE ? 1 : ranks)
                        .mapToObj(rank -> communicator.allocate(rank, (long) count * type.bytes() + GUARD))
                        .toList();
        ReduceOp op = mean ? ReduceOp.AVG : ReduceOp.SUM;
        communicator.run(
                inPlace
                        ? CollectiveCall.of(collective, root, count, type, op, inputs)
                        : CollectiveCall.of(collective, root, count, type, op, inputs)
                                .into(outputs));
        long[] sums = expected[mean ? 1 : 0];
        for (int rank = 0; rank < ranks; rank++) {
            boolean receives = collective != Collective.REDUCE || rank == root;
            int first = collective == Collective.REDUCE_SCATTER ? rank * count : 0;
            if (receives) {
                MemorySegment output = inPlace ? inputs.get(rank) : outputs.get(outputs.size() == 1 ? 0 : rank);
                for (int i = 0; i < count; i++) {
                    long found = bits(type, output, inPlace ? first + i : i);
                    if (found != sums[first + i]) {
                        fail("%s of %s, element %s is %x instead of %x", collective, type, i, found, sums[first + i]);
                    }
                }
            }
            // Memory outside the results stays as it was.
            for (int i = 0; i < inputElements; i++) {
                if ((!inPlace || !receives || i < first || i >= first + count)
                        && bits(type, inputs.get(rank), i) != values[i][rank]) {
                    fail("%s of %s changed element %s of input %s", collective, type, i, rank);
                }
            }
        }
    }

    private static MemorySegment filled(
            Communicator communicator, DataType type, long[][] values, int count, int rank) {
        MemorySegment input = communicator.allocate(rank, (long) count * type.bytes());
        for (int i = 0; i < count; i++) {
            set(type, input, i, values[i][rank]);
        }
        return input;
    }

    private static long[] sums(DataType type, boolean mean, long[][] values) {
        SumOracle oracle = new SumOracle(type);
        return Arrays.stream(values)
                .mapToLong(sample -> oracle.defined(sample, mean))
                .toArray();
    }

    private static void set(DataType type, MemorySegment array, long index, long bits) {
        switch (type.bytes()) {
            case 2 -> array.setAtIndex(ValueLayout.JAVA_SHORT, index, (short) bits);
            case 4 -> array.setAtIndex(ValueLayout.JAVA_INT, index, (int) bits);
            default -> array.setAtIndex(ValueLayout.JAVA_LONG, index, bits);
        }
    }

    private static long bits(DataType type, MemorySegment array, long index) {
        return switch (type.bytes()) {
            case 2 -> Short.toUnsignedLong(array.getAtIndex(ValueLayout.JAVA_SHORT, index));
            case 4 -> Integer.toUnsignedLong(array.getAtIndex(ValueLayout.JAVA_INT, index));
            default -> array.getAtIndex(ValueLayout.JAVA_LONG, index);
        };
    }

    @Test
    void integersAndComparisonsAreReducedAsEver() {
        try (Communicator communicator = communicator(AlgorithmChoice.RING, Long.MAX_VALUE, 4)) {
            List<MemorySegment> buffers = communicator.allocateAll(4);
            for (int rank = 0; rank < 4; rank++) {
                buffers.get(rank).set(ValueLayout.JAVA_INT, 0, rank + 1);
            }
            communicator.allReduce(buffers, 1, DataType.I32, ReduceOp.SUM);
            assertThat(buffers.get(3).get(ValueLayout.JAVA_INT, 0)).isEqualTo(10);
            for (int rank = 0; rank < 4; rank++) {
                buffers.get(rank).set(ValueLayout.JAVA_FLOAT, 0, rank);
            }
            communicator.allReduce(buffers, 1, DataType.F32, ReduceOp.MAX);
            assertThat(buffers.get(0).get(ValueLayout.JAVA_FLOAT, 0)).isEqualTo(3);
            communicator.allReduce(buffers, 0, DataType.F32, ReduceOp.SUM);
        }
    }

    @Test
    void productsOfFloatsAreRejected() {
        try (Communicator communicator = communicator(AlgorithmChoice.STAR, Long.MAX_VALUE, 2)) {
            List<MemorySegment> buffers = communicator.allocateAll(4);
            assertThatThrownBy(() -> communicator.allReduce(buffers, 1, DataType.F32, ReduceOp.PROD))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("products of F32 depend on their order, so BANYAN_REPRODUCIBLE=1 does not allow them;"
                            + " set it to 0 for them");
        }
    }
}
