package dev.banyan.cli.bench;

import dev.banyan.cli.process.LocalProcesses;
import dev.banyan.config.Config;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.schedule.plan.Algorithms;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.plan.SizeRules;
import dev.banyan.topology.Machine;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.IntStream;

/** Hashes of the same reproducible sums by several backends, algorithms and numbers of processes. */
final class SumHashes {
    /** The links of the ranks; results do not depend on them. */
    static final Machine MACHINE = Machine.preset("p3.16xlarge");

    private static final AlgorithmConfig AUTO = AlgorithmConfig.of(AlgorithmChoice.AUTO);

    private final List<AlgorithmConfig> algorithms;
    private final Consumer<String> lines;
    private final List<Row> rows = new ArrayList<>();

    /**
     * The sums of one algorithm, as JSON has them.
     *
     * @param place where they ran
     * @param passed sums of an element if all results are those of the first row, else 0
     * @param failed sums of an element if they are not
     * @param hash of all results
     */
    record Row(String place, String algorithm, long passed, long failed, List<String> failures, String hash) {
        String name() {
            return place + ", " + algorithm;
        }
    }

    /** @param lines takes a line for each hash */
    SumHashes(List<AlgorithmConfig> algorithms, Consumer<String> lines) {
        this.algorithms = algorithms;
        this.lines = lines;
    }

    List<Row> rows() {
        return rows;
    }

    /**
     * Returns the hash that all rows have.
     *
     * @throws IllegalStateException if two differ
     */
    String common() {
        rows.stream().flatMap(row -> row.failures().stream()).findFirst().ifPresent(failure -> {
            throw new IllegalStateException(failure);
        });
        return rows.getFirst().hash();
    }

    void onHost() {
        for (AlgorithmConfig algorithm : algorithms) {
            add("host", algorithm, Communicator.onHost(MACHINE, config(algorithm)));
        }
    }

    /** @param gpus the ranks take them by turns */
    void onGpus(int[] gpus) {
        int[] ofRanks = IntStream.range(0, SumDigest.RANKS)
                .map(rank -> gpus[rank % gpus.length])
                .toArray();
        for (AlgorithmConfig algorithm : algorithms) {
            add(
                    "GPUs " + Arrays.toString(ofRanks),
                    algorithm,
                    Communicator.onGpus(MACHINE, config(algorithm), ofRanks));
        }
    }

    /** Runs this command again in so many processes, which share the host's memory. */
    void inProcesses(int processes) {
        List<String> printed = new ArrayList<>();
        LocalProcesses.run(processes, List.of("selftest", "--reproducible"), printed::add);
        add(processes + " processes", AUTO, rows.getFirst().passed(), printed.getLast());
    }

    /** Returns the hash as one of several processes. */
    String join(int processes) {
        if (SumDigest.RANKS % processes != 0) {
            throw new IllegalArgumentException(
                    processes + " processes cannot share " + SumDigest.RANKS + " ranks; start 1, 2, 4 or 8");
        }
        try (Communicator joined = Communicator.join(MACHINE, config(AUTO), SumDigest.RANKS / processes)) {
            return new SumDigest(joined).run();
        }
    }

    private static Config config(AlgorithmConfig algorithm) {
        return Config.builder()
                .set(Algorithms.REPRODUCIBLE, true)
                .set(Planner.ALGORITHM, SizeRules.always(algorithm))
                .load();
    }

    private void add(String place, AlgorithmConfig algorithm, Communicator opened) {
        try (Communicator communicator = opened) {
            SumDigest digest = new SumDigest(communicator);
            String hash = digest.run();
            add(place, algorithm, digest.sums(), hash);
        }
    }

    /** Adds a row, and compares it with the first. */
    void add(String place, AlgorithmConfig algorithm, long sums, String hash) {
        boolean isSame = rows.isEmpty() || hash.equals(rows.getFirst().hash());
        String name = place + ", " + algorithm;
        List<String> failures = isSame
                ? List.of()
                : List.of("reproducible sums of " + name + " have the hash " + hash + ", those of "
                        + rows.getFirst().name() + " " + rows.getFirst().hash());
        rows.add(new Row(place, algorithm.toString(), isSame ? sums : 0, isSame ? 0 : sums, failures, hash));
        lines.accept(name + ": " + hash);
    }
}
