package dev.banyan.djl.internal.data;

import ai.djl.ndarray.NDManager;
import ai.djl.training.dataset.Batch;
import ai.djl.training.dataset.Dataset;
import ai.djl.training.dataset.RandomAccessDataset;
import ai.djl.translate.Batchifier;
import ai.djl.translate.TranslateException;
import ai.djl.translate.TranslatorOptions;
import ai.djl.util.Progress;
import dev.banyan.djl.internal.processes.Processes;
import java.io.IOException;
import java.util.concurrent.ExecutorService;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.jspecify.annotations.Nullable;

/** This process's part of a dataset. */
public final class ShardedDataset implements Dataset {
    private final Dataset whole;
    private final Processes processes;

    private ShardedDataset(Dataset whole, Processes processes) {
        this.whole = whole;
        this.processes = processes;
    }

    /** Returns this process's part of a dataset; returns a dataset that is such a part itself unchanged. */
    public static Dataset of(Dataset dataset, Processes processes) {
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
            return () -> stream(parts)
                    .map(part -> (Batch) new PartialBatch(part, processes.size()))
                    .iterator();
        }
        Iterable<Batch> batches = whole.getData(manager, executorService);
        return () -> stream(batches).flatMap(this::cut).iterator();
    }

    @Override
    public void prepare(@Nullable Progress progress) throws IOException, TranslateException {
        whole.prepare(progress);
    }

    @Override
    public TranslatorOptions matchingTranslatorOptions() {
        return whole.matchingTranslatorOptions();
    }

    private static Stream<Batch> stream(Iterable<Batch> batches) {
        return StreamSupport.stream(batches.spliterator(), false);
    }

    /**
     * Cuts this process's part out of a batch; returns nothing if the batch has fewer samples than there are
     * processes.
     */
    private Stream<Batch> cut(Batch batch) {
        int part = ShardSampler.part(batch.getSize(), processes);
        if (part == 0) {
            batch.close();
            return Stream.empty();
        }
        long first = (long) part * processes.rank();
        return Stream.of(new Batch(
                batch.getManager(),
                Rows.of(batch.getData(), first, part),
                Rows.of(batch.getLabels(), first, part),
                part,
                Batchifier.STACK,
                Batchifier.STACK,
                batch.getProgress(),
                batch.getProgressTotal()));
    }
}
