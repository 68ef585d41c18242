package dev.banyan.cuda.internal.program;

import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.launch.Pool;
import dev.banyan.cuda.internal.ptx.ElementTable;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.Function;

/**
 * The runs of a kind of kernels that work on elements, in the streams of device programs. Used by one thread at a time.
 */
final class ElementRuns {
    private final String name;
    private final ProgramLauncher programs;
    private final Pool<ElementRun> pool;

    /**
     * @param name of a run, for messages
     * @param devices all devices, as the programs have them
     * @param programs owns the streams
     */
    ElementRuns(String name, List<CudaDevice> devices, ProgramLauncher programs) {
        this.name = name;
        this.programs = programs;
        pool = new Pool<>(() -> new ElementRun(this, devices, programs.events()));
    }

    String name() {
        return name;
    }

    /**
     * Launches work on arrays, by as few launches as their kinds and the table allow.
     *
     * @param kindOf the property in which arrays of one launch agree
     * @param launch launches arrays of a kind, at most {@link ElementTable#MOST_ENTRIES}
     * @return their run
     */
    <T, K> ElementRun launch(List<T> arrays, Function<T, K> kindOf, BiConsumer<K, List<T>> launch) {
        Map<K, List<T>> kinds = new LinkedHashMap<>();
        arrays.forEach(array -> kinds.computeIfAbsent(kindOf.apply(array), _ -> new ArrayList<>())
                .add(array));
        kinds.forEach((kind, same) -> {
            for (int from = 0; from < same.size(); from += ElementTable.MOST_ENTRIES) {
                launch.accept(kind, same.subList(from, Math.min(same.size(), from + ElementTable.MOST_ENTRIES)));
            }
        });
        ElementRun run = pool.take();
        programs.record(run.ended(), name);
        return run;
    }

    /** Keeps a run for a later launch. */
    void recycle(ElementRun run) {
        pool.give(run);
    }
}
