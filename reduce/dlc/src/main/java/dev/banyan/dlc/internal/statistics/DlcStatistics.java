package dev.banyan.dlc.internal.statistics;

import dev.banyan.dlc.DlcTrace;
import dev.banyan.dlc.internal.format.DlcDependencyType;
import dev.banyan.dlc.internal.format.DlcMessage;
import dev.banyan.dlc.internal.format.DlcOperation;
import dev.banyan.dlc.internal.run.DlcRun;
import dev.banyan.dlc.internal.run.Exchange;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.LongSummaryStatistics;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Statistics of a run from its nodes' traces: traffic, overheads and overlap. Some of the nodes' traces are
 * enough; what both a worker and a server recorded counts once.
 *
 * <p>Making it takes O(r log r) time for r records. Immutable and safe for use from any thread.
 */
public final class DlcStatistics {
    /**
     * The summary of many measurements.
     *
     * @param count how many they are, at least 1
     * @param mean their mean
     * @param min the least
     * @param max the greatest
     */
    public record Spread(long count, double mean, long min, long max) {
        static Spread of(LongSummaryStatistics measured) {
            return new Spread(measured.getCount(), measured.getAverage(), measured.getMin(), measured.getMax());
        }
    }

    /**
     * Lengths of a key's messages in bytes, as means over iterations and workers; 0 for those that no trace has.
     *
     * @param key index of the parameter
     * @param pushBytes the gradient
     * @param acknowledgementBytes the answer to it
     * @param requestBytes the request to pull
     * @param pullBytes the value
     */
    public record KeyTraffic(
            int key, double pushBytes, double acknowledgementBytes, double requestBytes, double pullBytes) {}

    /**
     * The three phases of an iteration, in us, as means over iterations and workers. An iteration begins when a
     * worker has the last value of the one before, and ends when it has the last of its own. Computation ends with
     * the last gradient's push. Communication goes on while any key is between its push and the end of its pull.
     *
     * @param iterations iterations of single workers that were taken: those whose beginning and end are known
     * @param computationUs only computation
     * @param overlapUs both
     * @param communicationUs only communication
     */
    public record Phases(int iterations, double computationUs, double overlapUs, double communicationUs) {
        /** Share of the communication that computation hides, 0..1; null without communication. */
        public @Nullable Double overlapRatio() {
            double communicating = overlapUs + communicationUs;
            return communicating > 0 ? overlapUs / communicating : null;
        }

        /** Time of an iteration. */
        public double iterationUs() {
            return computationUs + overlapUs + communicationUs;
        }
    }

    private final int records;
    private final int setups;
    private final List<DlcMessage> training;
    private final int workers;
    private final int servers;
    private final List<Integer> keys;
    private final Set<Integer> iterations;
    /** The length of each exchange's messages, by message; -1 where none is known. */
    private final SortedMap<Exchange, long[]> lengths = new TreeMap<>();

    private final Map<Overhead, SortedMap<Integer, LongSummaryStatistics>> overheads = new EnumMap<>(Overhead.class);
    /** The same without the keys, one by one. */
    private final Map<Overhead, List<Long>> times = new EnumMap<>(Overhead.class);

    private final Optional<Phases> phases;

    private DlcStatistics(DlcRun run) {
        List<DlcMessage> messages = run.messages().toList();
        records = run.traces().stream().mapToInt(DlcTrace::size).sum();
        setups = records - messages.size();
        workers = distinct(messages.stream().map(DlcMessage::worker)).size();
        servers = distinct(messages.stream().map(DlcMessage::server)).size();
        keys = distinct(messages.stream().map(DlcMessage::key));
        iterations = run.iterations();
        training = messages.stream()
                .filter(message -> iterations.contains(message.iteration()))
                .toList();
        for (DlcMessage message : training) {
            lengths.computeIfAbsent(Exchange.of(message), exchange -> {
                        long[] unknown = new long[DlcOperation.MESSAGES];
                        Arrays.fill(unknown, -1);
                        return unknown;
                    })[message.operation().message()] =
                    message.length();
        }
        training.forEach(this::addDelay);
        addServersTimes();
        phases = new PhaseFinder(messages).phases(iterations);
    }

    /** The statistics of a run. */
    public static DlcStatistics of(DlcRun run) {
        return new DlcStatistics(run);
    }

    private static List<Integer> distinct(Stream<Integer> numbers) {
        return numbers.distinct().sorted().toList();
    }

    private void addDelay(DlcMessage message) {
        boolean depends = message.dependencyType() != DlcDependencyType.INDEPENDENT;
        Optional<Overhead> overhead = switch (message.operation()) {
            case PUSH_SEND_WORKER -> Optional.of(Overhead.COMPUTATION);
            case PUSH_RECV_WORKER -> Optional.of(Overhead.PUSH);
            case PULL_SEND_WORKER -> Optional.of(Overhead.WAIT);
            case PULL_RECV_WORKER -> Optional.of(Overhead.PULL);
            case PULL_SEND_SERVER -> Optional.of(Overhead.SEARCH);
            case PUSH_RECV_SERVER, PUSH_SEND_SERVER, PULL_RECV_SERVER -> Optional.empty();
        };
        if (depends) {
            overhead.ifPresent(which -> add(which, message.key(), message.delayUs()));
        }
    }

    private void add(Overhead overhead, int key, long us) {
        overheads
                .computeIfAbsent(overhead, which -> new TreeMap<>())
                .computeIfAbsent(key, which -> new LongSummaryStatistics())
                .accept(us);
        times.computeIfAbsent(overhead, which -> new ArrayList<>()).add(us);
    }

    /** Adds the times that servers spend for all workers together. */
    private void addServersTimes() {
        record Round(int iteration, int key, int server) {}
        Map<Round, LongSummaryStatistics> taken = new TreeMap<>(Comparator.comparingInt(Round::iteration)
                .thenComparingInt(Round::key)
                .thenComparingInt(Round::server));
        Map<Round, Long> answered = new HashMap<>();
        for (DlcMessage message : training) {
            Round round = new Round(message.iteration(), message.key(), message.server());
            if (message.operation() == DlcOperation.PUSH_RECV_SERVER) {
                taken.computeIfAbsent(round, which -> new LongSummaryStatistics())
                        .accept(message.timeUs());
            } else if (message.operation() == DlcOperation.PUSH_SEND_SERVER) {
                answered.merge(round, message.timeUs(), Math::min);
            }
        }
        taken.forEach((round, times) -> {
            add(Overhead.SYNCHRONISATION, round.key(), times.getMax() - times.getMin());
            Long first = answered.get(round);
            if (first != null) {
                add(Overhead.UPDATE, round.key(), first - times.getMax());
            }
        });
    }

    /** Records of all traces. */
    public int records() {
        return records;
    }

    /** Records of setup messages among them. */
    public int setupRecords() {
        return setups;
    }

    /** Workers whose messages were recorded. */
    public int workers() {
        return workers;
    }

    /** Servers whose messages were recorded. */
    public int servers() {
        return servers;
    }

    /** Indices of the parameters. */
    public List<Integer> keys() {
        return keys;
    }

    /** Iterations in which gradients were pushed, initialisation apart. */
    public int iterations() {
        return iterations.size();
    }

    /** Bytes that an iteration's pushes move from workers to servers, as a mean over iterations. */
    public double pushedBytesPerIteration() {
        return bytesPerIteration(DlcOperation.PUSH_SEND_WORKER.message());
    }

    /** Bytes that an iteration's pulls move from servers to workers, as a mean over iterations. */
    public double pulledBytesPerIteration() {
        return bytesPerIteration(DlcOperation.PULL_RECV_WORKER.message());
    }

    /** Bytes of all messages of an iteration, with acknowledgements and requests, as a mean over iterations. */
    public double bytesPerIteration() {
        return IntStream.range(0, DlcOperation.MESSAGES)
                .mapToDouble(this::bytesPerIteration)
                .sum();
    }

    private double bytesPerIteration(int message) {
        return iterations.isEmpty() ? 0 : (double) known(message).sum() / iterations.size();
    }

    private LongStream known(int message) {
        return lengths.values().stream().mapToLong(bytes -> bytes[message]).filter(bytes -> bytes >= 0);
    }

    /**
     * Lengths in bytes of one of the four messages.
     *
     * @param message 0..3: push, acknowledgement, request, pulled value
     * @return sorted, each as often as it was sent, initialisation apart
     */
    public List<Long> lengths(int message) {
        return known(message).sorted().boxed().toList();
    }

    /** Lengths of each key's messages, by key. */
    public List<KeyTraffic> traffic() {
        SortedMap<Integer, LongSummaryStatistics[]> byKey = new TreeMap<>();
        lengths.forEach((exchange, bytes) -> {
            LongSummaryStatistics[] sums = byKey.computeIfAbsent(
                    exchange.key(),
                    key -> Stream.generate(LongSummaryStatistics::new)
                            .limit(DlcOperation.MESSAGES)
                            .toArray(LongSummaryStatistics[]::new));
            for (int message = 0; message < bytes.length; message++) {
                if (bytes[message] >= 0) {
                    sums[message].accept(bytes[message]);
                }
            }
        });
        List<KeyTraffic> traffic = new ArrayList<>();
        byKey.forEach((key, sums) -> traffic.add(new KeyTraffic(
                key, sums[0].getAverage(), sums[1].getAverage(), sums[2].getAverage(), sums[3].getAverage())));
        return traffic;
    }

    /** An overhead in us over all keys; empty if no trace records it. */
    public Optional<Spread> overhead(Overhead overhead) {
        LongSummaryStatistics all = new LongSummaryStatistics();
        measured(overhead).values().forEach(all::combine);
        return all.getCount() == 0 ? Optional.empty() : Optional.of(Spread.of(all));
    }

    /** An overhead each time that it was measured, in us, sorted. */
    public List<Long> times(Overhead overhead) {
        return times.getOrDefault(overhead, List.of()).stream().sorted().toList();
    }

    /** An overhead in us by key. */
    public SortedMap<Integer, Spread> overheadByKey(Overhead overhead) {
        return measured(overhead).entrySet().stream()
                .collect(Collectors.toMap(
                        Map.Entry::getKey, entry -> Spread.of(entry.getValue()), (a, b) -> a, TreeMap::new));
    }

    private SortedMap<Integer, LongSummaryStatistics> measured(Overhead overhead) {
        return overheads.getOrDefault(overhead, Collections.emptySortedMap());
    }

    /** The phases of an iteration; empty where no worker's trace has a whole one. */
    public Optional<Phases> phases() {
        return phases;
    }
}
