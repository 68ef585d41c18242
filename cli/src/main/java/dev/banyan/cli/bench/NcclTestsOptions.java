package dev.banyan.cli.bench;

import dev.banyan.study.text.ResourceTable;
import java.util.Optional;

/** The options of {@code bench} in place of those of nccl-tests that it does not take. */
final class NcclTestsOptions {
    private NcclTestsOptions() {}

    /**
     * Returns a sentence on an option of nccl-tests.
     *
     * @param word as it was written: its value may follow at once, as in {@code -t4} and {@code --nthreads=4}
     */
    static Optional<String> refusal(String word) {
        String option = word.startsWith("--") ? word.split("=", 2)[0] : word.substring(0, Math.min(2, word.length()));
        return ResourceTable.rows(NcclTestsOptions.class, "nccl-tests.txt", 2).stream()
                .filter(row -> row[0].equals(option))
                .findFirst()
                .map(row -> "bench has no " + option + " of nccl-tests: " + row[1]);
    }
}
