package dev.banyan.cli.bench;

import dev.banyan.reduce.AlgorithmChoice;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.type.Collective;
import java.lang.foreign.MemorySegment;
import java.util.function.IntToLongFunction;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** Measures and checks one call after another, out of place and in place, over the same buffers. */
final class SweepRunner {
    /** Every bit set: no number of a floating-point type, so that an element that is left out is seen. */
    private static final byte POISON = -1;

    private final Call call;
    private final Repeats repeats;
    private final @Nullable ReferenceCheck check;
    private final Buffers first;
    private final Buffers second;
    private long phase;

    /**
     * @param check the reference, or null for no checks
     * @param first as long as the largest size, as {@code second} is
     */
    SweepRunner(Call call, Repeats repeats, @Nullable ReferenceCheck check, Buffers first, Buffers second) {
        this.call = call;
        this.repeats = repeats;
        this.check = check;
        this.first = first;
        this.second = second;
    }

    /** One row. */
    Row measure(AlgorithmChoice algorithm, Communicator communicator, long count) {
        MemorySegment[] inputs = first.first(call.inputBytes(count));
        MemorySegment[] outputs = second.first(call.outputBytes(count));
        MemorySegment[] both = second.first(call.size(count));
        CollectiveCall callApart = call.outOfPlace(count, inputs, outputs);
        CollectiveCall callTogether = call.inPlace(count, both);
        Runnable outOfPlace = () -> communicator.run(callApart);
        Runnable inPlace = () -> communicator.run(callTogether);

        Long wrongOutOfPlace = check == null ? null : checkOutOfPlace(check, outOfPlace, count, inputs, outputs);
        Measurement apart = Measurement.of(call, count, repeats.time(outOfPlace), wrongOutOfPlace);
        Long wrongInPlace = check == null ? null : checkInPlace(check, inPlace, count, both);
        Measurement together = Measurement.of(call, count, repeats.time(inPlace), wrongInPlace);
        return new Row(algorithm, call, count, apart, together);
    }

    private long checkOutOfPlace(
            ReferenceCheck reference, Runnable run, long count, MemorySegment[] inputs, MemorySegment[] outputs) {
        long now = nextPhase();
        eachRank(rank -> {
            reference.fill(inputs[rank], rank, 0, now);
            outputs[rank].fill(POISON);
            return 0;
        });
        run.run();
        return eachRank(rank -> reference.changed(inputs[rank], rank, 0, now)
                + wrong(reference, outputs[rank], rank, count, now));
    }

    private long checkInPlace(ReferenceCheck reference, Runnable run, long count, MemorySegment[] buffers) {
        long now = nextPhase();
        eachRank(rank -> {
            buffers[rank].fill(POISON);
            if (call.hasInput(rank)) {
                reference.fill(input(buffers[rank], rank, count), rank, 0, now);
            }
            return 0;
        });
        run.run();
        return eachRank(rank -> wrong(reference, output(buffers[rank], rank, count), rank, count, now));
    }

    private long wrong(ReferenceCheck reference, MemorySegment output, int rank, long count, long now) {
        return call.hasOutput(rank)
                ? reference.wrong(call.collective(), output, rank, call.root(), count, now)
                : 0;
    }

    /** Where in a rank's one buffer its input lies; see {@link Collective}. */
    private MemorySegment input(MemorySegment buffer, int rank, long count) {
        long bytes = call.inputBytes(count);
        return call.collective() == Collective.ALL_GATHER ? buffer.asSlice(rank * bytes, bytes) : buffer;
    }

    /** Where in a rank's one buffer its output lies. */
    private MemorySegment output(MemorySegment buffer, int rank, long count) {
        long bytes = call.outputBytes(count);
        return call.collective() == Collective.REDUCE_SCATTER ? buffer.asSlice(rank * bytes, bytes) : buffer;
    }

    private long nextPhase() {
        phase += 7_919;
        return phase;
    }

    private long eachRank(IntToLongFunction task) {
        return IntStream.range(0, call.ranks()).parallel().mapToLong(task).sum();
    }
}
