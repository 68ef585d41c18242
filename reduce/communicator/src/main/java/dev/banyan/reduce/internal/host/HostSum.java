package dev.banyan.reduce.internal.host;

import dev.banyan.reduce.internal.WorkerPool;
import dev.banyan.reduce.internal.code.BlockExecutable;
import dev.banyan.reduce.internal.sum.ReproducibleSum;
import dev.banyan.reduce.internal.sum.SumBlock;
import dev.banyan.reduce.internal.sum.SumRequest;
import dev.banyan.schedule.type.Collective;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Arrays;
import java.util.stream.IntStream;

/**
 * Reproducible sums. Any rank's memory is within reach of every thread, so no schedule moves codes and integers between
 * ranks: a thread takes a block of elements, reads it of all ranks, and writes it where it is
 * wanted.
 */
final class HostSum extends BlockExecutable {
    private static final int BLOCKS_PER_LOOK = 1;
    /** Bytes to read for which one more thread is woken. */
    private static final long BYTES_PER_HELPER = 128 << 10;

    private final SumRequest request;
    /** One for each thread that may take part, the caller's first. */
    private final SumBlock[] sums;

    private final long sectionBlocks;
    private final long blocks;
    /** Bytes of all inputs. */
    private final long read;

    private final MemorySegment[] sources;
    private final MemorySegment[] targets;

    HostSum(SumRequest request, int ranks, WorkerPool pool, Duration timeout) {
        super(ranks, pool, timeout, BLOCKS_PER_LOOK);
        this.request = request;
        ReproducibleSum sum = new ReproducibleSum(request.type(), ranks, request.mean());
        int sections = request.collective() == Collective.REDUCE_SCATTER ? ranks : 1;
        sectionBlocks = Math.ceilDiv(request.count(), SumBlock.LENGTH);
        blocks = sections * sectionBlocks;
        read = (long) sections * ranks * request.count() * request.type().bytes();
        int helpers = Math.clamp(Math.min(blocks - 1, read / BYTES_PER_HELPER), 0, pool.helpers());
        sums = IntStream.rangeClosed(0, helpers)
                .mapToObj(_ -> new SumBlock(sum))
                .toArray(SumBlock[]::new);
        sources = new MemorySegment[ranks];
        targets = new MemorySegment[ranks];
        end();
    }

    @Override
    public void begin(MemorySegment[] inputs, MemorySegment[] outputs) {
        System.arraycopy(request.inPlace() ? outputs : inputs, 0, sources, 0, sources.length);
        System.arraycopy(outputs, 0, targets, 0, targets.length);
    }

    @Override
    public void end() {
        Arrays.fill(sources, MemorySegment.NULL);
        Arrays.fill(targets, MemorySegment.NULL);
    }

    @Override
    public long blocks() {
        return blocks;
    }

    @Override
    public int participants() {
        return sums.length;
    }

    @Override
    public long traffic() {
        return read;
    }

    @Override
    public void runBlock(int participant, long block) {
        SumBlock sum = sums[participant];
        int section = (int) (block / sectionBlocks);
        int bytes = request.type().bytes();
        long first = block % sectionBlocks * SumBlock.LENGTH;
        long start = (section * request.count() + first) * bytes;
        int count = (int) Math.min(SumBlock.LENGTH, request.count() - first);
        switch (request.collective()) {
            case ALL_REDUCE -> sum.sum(sources, start, targets, start, count);
            case REDUCE -> sum.sum(sources, start, only(request.root()), start, count);
            case REDUCE_SCATTER ->
                sum.sum(sources, start, only(section), request.inPlace() ? start : first * bytes, count);
            case BROADCAST, ALL_GATHER -> throw new IllegalStateException(request.collective() + " sums nothing");
        }
    }

    private MemorySegment[] only(int rank) {
        return new MemorySegment[] {targets[rank]};
    }

    /** Does nothing: the garbage collector frees the scratch memory. */
    @Override
    public void free() {}
}
