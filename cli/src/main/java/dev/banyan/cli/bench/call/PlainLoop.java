package dev.banyan.cli.bench.call;

import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.List;
import java.util.stream.IntStream;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorSpecies;
import org.jspecify.annotations.Nullable;

/**
 * The least that an allreduce of floats in place over eight ranks must do in host memory, written by hand: for each
 * vector eight loads, seven additions and eight stores. By it users see what a collective costs beside its loop.
 *
 * <p>Needs the module jdk.incubator.vector; it must not be touched where that is missing.
 */
public final class PlainLoop {
    private static final int RANKS = 8;
    /** In bytes of an array: short enough for the compiler's counted loops, and for cores to share what is in cache. */
    private static final long BLOCK = 64 << 10;
    /** In bytes of an array: so few that a call is short before the JVM has compiled the loop, too. */
    private static final long WARM_UP = 4 << 10;

    private static final VectorSpecies<Float> LANES = FloatVector.SPECIES_PREFERRED;
    private static final ByteOrder ORDER = ByteOrder.nativeOrder();
    /** All native memory: loops over segments of several arenas are compiled again and again. */
    @SuppressWarnings("restricted")
    private static final MemorySegment MEMORY = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

    private final long[] addresses;

    private PlainLoop(long[] addresses) {
        this.addresses = addresses;
    }

    /** Returns the loop over the buffers of a call, compiled, or null if the call is of another kind. */
    public static @Nullable PlainLoop of(Call call, List<MemorySegment> buffers) {
        boolean fits = call.collective() == Collective.ALL_REDUCE
                && call.type() == DataType.F32
                && call.op() == ReduceOp.SUM
                && call.ranks() == RANKS;
        if (!fits) {
            return null;
        }
        PlainLoop loop =
                new PlainLoop(buffers.stream().mapToLong(MemorySegment::address).toArray());
        long bytes = Math.min(WARM_UP, buffers.getFirst().byteSize());
        WarmUp.untilCompiled(() -> loop.sum(0, bytes), 1);
        return loop;
    }

    /** Returns the median time in us, on one core or on all, whichever is faster. */
    public double medianUs(Repeats repeats, long count) {
        long bytes = count * Float.BYTES;
        double alone = medianUs(repeats, () -> sum(0, bytes));
        int blocks = Math.toIntExact(Math.ceilDiv(bytes, BLOCK));
        if (blocks < 2) {
            return alone;
        }
        return Math.min(
                alone,
                medianUs(
                        repeats,
                        () -> IntStream.range(0, blocks)
                                .parallel()
                                .forEach(block -> sum(block * BLOCK, Math.min(bytes, (block + 1) * BLOCK)))));
    }

    private static double medianUs(Repeats repeats, Runnable loop) {
        WarmUp.untilSteady(loop);
        return Measurement.median(repeats.time(loop)) / 1e3;
    }

    private void sum(long from, long to) {
        for (long at = from; at < to; at += BLOCK) {
            sumBlock(at, (int) Math.min(BLOCK, to - at));
        }
    }

    private void sumBlock(long from, int bytes) {
        long a = addresses[0] + from;
        long b = addresses[1] + from;
        long c = addresses[2] + from;
        long d = addresses[3] + from;
        long e = addresses[4] + from;
        long f = addresses[5] + from;
        long g = addresses[6] + from;
        long h = addresses[7] + from;
        int i = 0;
        for (int end = bytes - LANES.vectorByteSize(); i <= end; i += LANES.vectorByteSize()) {
            FloatVector sum = load(a + i)
                    .add(load(b + i))
                    .add(load(c + i))
                    .add(load(d + i))
                    .add(load(e + i))
                    .add(load(f + i))
                    .add(load(g + i))
                    .add(load(h + i));
            sum.intoMemorySegment(MEMORY, a + i, ORDER);
            sum.intoMemorySegment(MEMORY, b + i, ORDER);
            sum.intoMemorySegment(MEMORY, c + i, ORDER);
            sum.intoMemorySegment(MEMORY, d + i, ORDER);
            sum.intoMemorySegment(MEMORY, e + i, ORDER);
            sum.intoMemorySegment(MEMORY, f + i, ORDER);
            sum.intoMemorySegment(MEMORY, g + i, ORDER);
            sum.intoMemorySegment(MEMORY, h + i, ORDER);
        }
        for (; i < bytes; i += Float.BYTES) {
            float sum = 0;
            for (long address : addresses) {
                sum += MEMORY.get(ValueLayout.JAVA_FLOAT, address + from + i);
            }
            for (long address : addresses) {
                MEMORY.set(ValueLayout.JAVA_FLOAT, address + from + i, sum);
            }
        }
    }

    private static FloatVector load(long address) {
        return FloatVector.fromMemorySegment(LANES, MEMORY, address, ORDER);
    }
}
