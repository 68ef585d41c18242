package dev.banyan.kvstore;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.internal.sum.ReproducibleSum;
import dev.banyan.reduce.internal.sum.SumBlock;
import dev.banyan.schedule.type.DataType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.random.RandomGenerator;
import java.util.stream.IntStream;

/** Arrays of floats, one for each rank. */
final class Floats {
    private Floats() {}

    static List<MemorySegment> zeros(Communicator communicator, long count) {
        return IntStream.range(0, communicator.size())
                .mapToObj(rank -> communicator.allocate(rank, Float.BYTES * count))
                .toList();
    }

    static List<MemorySegment> random(Communicator communicator, long count, RandomGenerator random) {
        List<MemorySegment> arrays = zeros(communicator, count);
        for (MemorySegment array : arrays) {
            for (long i = 0; i < count; i++) {
                array.setAtIndex(ValueLayout.JAVA_FLOAT, i, (float) random.nextGaussian());
            }
        }
        return arrays;
    }

    /** Rank r's elements are r + 1, the last one times 10. */
    static List<MemorySegment> byRank(Communicator communicator, long count) {
        List<MemorySegment> arrays = zeros(communicator, count);
        for (int rank = 0; rank < arrays.size(); rank++) {
            for (long i = 0; i < count; i++) {
                arrays.get(rank).setAtIndex(ValueLayout.JAVA_FLOAT, i, (rank + 1) * (i == count - 1 ? 10f : 1f));
            }
        }
        return arrays;
    }

    static float[] values(MemorySegment array) {
        return array.toArray(ValueLayout.JAVA_FLOAT);
    }

    /** ((rank 0 + rank 1) + rank 2) ... */
    static float[] sumByRank(List<MemorySegment> arrays) {
        float[] sum = values(arrays.getFirst());
        for (MemorySegment array : arrays.subList(1, arrays.size())) {
            float[] next = values(array);
            for (int i = 0; i < sum.length; i++) {
                sum[i] += next[i];
            }
        }
        return sum;
    }

    static float[] reproducibleSum(List<MemorySegment> arrays) {
        float[] result = new float[values(arrays.getFirst()).length];
        SumBlock block = new SumBlock(new ReproducibleSum(DataType.F32, arrays.size(), false));
        for (int at = 0; at < result.length; at += SumBlock.LENGTH) {
            long offset = 4L * at;
            block.begin(Math.min(SumBlock.LENGTH, result.length - at));
            arrays.forEach(array -> block.look(array, offset));
            arrays.forEach(array -> block.add(array, offset));
            block.round();
            block.store(MemorySegment.ofArray(result), offset);
        }
        return result;
    }

    /** First index at which values are further apart than a tolerance, or -1; AssertJ takes long for many. */
    static int mismatch(float[] expected, float[] values, float tolerance) {
        assertThat(values).hasSameSizeAs(expected);
        for (int i = 0; i < values.length; i++) {
            if (!(Math.abs(values[i] - expected[i]) <= tolerance)) {
                return i;
            }
        }
        return -1;
    }
}
