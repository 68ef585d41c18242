package dev.banyan.djl.internal.data;

import ai.djl.training.dataset.RandomAccessDataset;
import ai.djl.training.dataset.Sampler;
import dev.banyan.djl.internal.processes.Processes;
import dev.banyan.schedule.type.DataType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Queue;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Draws this process's part of each batch of a sampler. Only the first process draws; it broadcasts many batches at a
 * time. So no sample is read twice, whatever random numbers the other processes have. Each part consists of consecutive
 * samples of the batch; all parts of a batch have the same length.
 */
final class ShardSampler implements Sampler {
    /** The number of samples that are broadcast at once, except for the rest of a batch. */
    private static final int ROUND = 1 << 16;

    private static final Logger LOG = LoggerFactory.getLogger(ShardSampler.class);
    private static final AtomicBoolean UNEVEN = new AtomicBoolean();

    private final Sampler whole;
    private final Processes processes;

    ShardSampler(Sampler whole, Processes processes) {
        this.whole = whole;
        this.processes = processes;
    }

    @Override
    public Iterator<List<Long>> sample(RandomAccessDataset dataset) {
        return new Parts(whole.sample(dataset));
    }

    @Override
    public int getBatchSize() {
        return whole.getBatchSize() / processes.size();
    }

    /** Returns how many samples of a batch each process reads. Logs the first remainder that is left out. */
    static int part(int samples, Processes processes) {
        int rest = samples % processes.size();
        if (rest != 0 && processes.rank() == 0 && UNEVEN.compareAndSet(false, true)) {
            LOG.warn(
                    "a batch of {} samples can't be divided by {} processes: its rest of {} is left out, as will be"
                            + " that of other such batches; take a batch size that can be divided",
                    samples,
                    processes.size(),
                    rest);
        }
        return samples / processes.size();
    }

    private final class Parts implements Iterator<List<Long>> {
        private final Iterator<List<Long>> drawn;
        private final Queue<List<Long>> ready = new ArrayDeque<>();
        private boolean ended;

        Parts(Iterator<List<Long>> drawn) {
            this.drawn = drawn;
        }

        @Override
        public boolean hasNext() {
            while (ready.isEmpty() && !ended) {
                drawRound();
            }
            return !ready.isEmpty();
        }

        @Override
        public List<Long> next() {
            if (!hasNext()) {
                throw new NoSuchElementException("all batches were read");
            }
            return ready.remove();
        }

        /** Broadcasts the lengths of some batches, with -1 after the last batch of all, and then their samples. */
        private void drawRound() {
            List<Long> lengths = new ArrayList<>();
            List<Long> samples = new ArrayList<>();
            if (processes.rank() == 0) {
                while (drawn.hasNext() && samples.size() < ROUND) {
                    List<Long> batch = drawn.next();
                    lengths.add((long) batch.size());
                    samples.addAll(batch);
                }
                if (!drawn.hasNext()) {
                    lengths.add(-1L);
                }
            }
            List<Long> allLengths = broadcast(lengths);
            List<Long> allSamples = broadcast(samples);
            int from = 0;
            for (long length : allLengths) {
                if (length < 0) {
                    ended = true;
                    return;
                }
                int part = part((int) length, processes);
                if (part > 0) {
                    int first = from + part * processes.rank();
                    ready.add(List.copyOf(allSamples.subList(first, first + part)));
                }
                from += (int) length;
            }
        }

        /** Returns the numbers of the first process. */
        private List<Long> broadcast(List<Long> own) {
            // The garbage collector frees the memory, as a failed broadcast may still write to it.
            Arena arena = Arena.ofAuto();
            MemorySegment size = arena.allocateFrom(ValueLayout.JAVA_LONG, own.size());
            processes.broadcast(size, 1, DataType.I64);
            long count = size.get(ValueLayout.JAVA_LONG, 0);
            MemorySegment numbers = arena.allocate(ValueLayout.JAVA_LONG, count);
            for (int i = 0; i < own.size(); i++) {
                numbers.setAtIndex(ValueLayout.JAVA_LONG, i, own.get(i));
            }
            processes.broadcast(numbers, count, DataType.I64);
            return Arrays.stream(numbers.toArray(ValueLayout.JAVA_LONG)).boxed().toList();
        }
    }
}
