package dev.banyan.djl;

import ai.djl.ndarray.NDManager;
import ai.djl.training.dataset.Batch;
import ai.djl.training.dataset.Dataset;
import ai.djl.training.dataset.RandomAccessDataset;
import ai.djl.translate.Batchifier;
import ai.djl.translate.TranslateException;
import ai.djl.translate.TranslatorOptions;
import ai.djl.util.Progress;
import java.io.IOException;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.concurrent.ExecutorService;
import org.jspecify.annotations.Nullable;

/** This process's part of a dataset. */
final class ShardedDataset implements Dataset {
    private final Dataset whole;
    private final Processes processes;

    private ShardedDataset(Dataset whole, Processes processes) {
        this.whole = whole;
        this.processes = processes;
    }

    /** The part of a dataset; of a part that part itself. */
    static Dataset of(Dataset dataset, Processes processes) {
        return dataset instanceof ShardedDataset ? dataset : new ShardedDataset(dataset, processes);
    }

    @Override
    public Iterable<Batch> getData(NDManager manager) throws IOException, TranslateException {
        return getData(manager, null);
    }

    @Override
    public Iterable<Batch> getData(NDManager manager, @Nullable ExecutorService executorService)
            throws IOException, TranslateException {
        if (processes.size() == 1) {
            return whole.getData(manager, executorService);
        }
        if (whole instanceof RandomAccessDataset random) {
            Iterable<Batch> parts =
                    random.getData(manager, new ShardSampler(DjlInternals.sampler(random), processes), executorService);
            return () -> new Parts(parts.iterator());
        }
        Iterable<Batch> batches = whole.getData(manager, executorService);
        return () -> new Cuts(batches.iterator());
    }

    @Override
    public void prepare(@Nullable Progress progress) throws IOException, TranslateException {
        whole.prepare(progress);
    }

    @Override
    public TranslatorOptions matchingTranslatorOptions() {
        return whole.matchingTranslatorOptions();
    }

    /** This process's parts, as they are read. */
    private final class Parts implements Iterator<Batch> {
        private final Iterator<Batch> parts;

        Parts(Iterator<Batch> parts) {
            this.parts = parts;
        }

        @Override
        public boolean hasNext() {
            return parts.hasNext();
        }

        @Override
        public Batch next() {
            return new PartialBatch(parts.next(), processes.size());
        }
    }

    /** This process's part of each batch of at least as many samples as there are processes. */
    private final class Cuts implements Iterator<Batch> {
        private final Iterator<Batch> batches;
        private @Nullable Batch ready;

        Cuts(Iterator<Batch> batches) {
            this.batches = batches;
        }

        @Override
        public boolean hasNext() {
            while (ready == null && batches.hasNext()) {
                Batch batch = batches.next();
                int part = ShardSampler.part(batch.getSize(), processes);
                if (part > 0) {
                    ready = cut(batch, part);
                } else {
                    batch.close();
                }
            }
            return ready != null;
        }

        @Override
        public Batch next() {
            if (!hasNext()) {
                throw new NoSuchElementException("all batches were read");
            }
            Batch batch = Objects.requireNonNull(ready);
            ready = null;
            return batch;
        }

        private Batch cut(Batch batch, int part) {
            long first = (long) part * processes.rank();
            return new Batch(
                    batch.getManager(),
                    Rows.of(batch.getData(), first, part),
                    Rows.of(batch.getLabels(), first, part),
                    part,
                    Batchifier.STACK,
                    Batchifier.STACK,
                    batch.getProgress(),
                    batch.getProgressTotal());
        }
    }
}
