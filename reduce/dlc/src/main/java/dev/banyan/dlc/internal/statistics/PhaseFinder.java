package dev.banyan.dlc.internal.statistics;

import dev.banyan.dlc.internal.format.DlcMessage;
import dev.banyan.dlc.internal.format.DlcOperation;
import dev.banyan.dlc.internal.format.DlcRole;
import dev.banyan.dlc.internal.run.Exchange;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/** Finds when each worker computes, and when it communicates. */
final class PhaseFinder {
    /** The phases of one worker in one iteration. */
    private static final class Round {
        final Map<Exchange, Span> spans = new TreeMap<>();
        long lastPush = Long.MIN_VALUE;
        /**
         * Shortest computation before a push, and when that push was: used if no earlier iteration gives the
         * beginning.
         */
        long firstPush = Long.MAX_VALUE;

        long delay;

        long end() {
            return spans.values().stream().mapToLong(span -> span.end).max().orElseThrow();
        }

        boolean whole() {
            return spans.values().stream().allMatch(span -> span.begin >= 0 && span.end >= span.begin);
        }
    }

    /** From a key's push to the end of its pull. */
    private static final class Span {
        long begin = -1;
        long end = -1;
    }

    private record Place(int worker, int iteration) {}

    private final Map<Place, Round> rounds = new HashMap<>();

    PhaseFinder(List<DlcMessage> messages) {
        for (DlcMessage message : messages) {
            if (message.operation().role() == DlcRole.WORKER) {
                Round round =
                        rounds.computeIfAbsent(new Place(message.worker(), message.iteration()), place -> new Round());
                Span span = round.spans.computeIfAbsent(Exchange.of(message), exchange -> new Span());
                if (message.operation() == DlcOperation.PUSH_SEND_WORKER) {
                    span.begin = message.timeUs();
                    round.lastPush = Math.max(round.lastPush, span.begin);
                    if (span.begin < round.firstPush) {
                        round.firstPush = span.begin;
                        round.delay = message.delayUs();
                    }
                } else if (message.operation() == DlcOperation.PULL_RECV_WORKER) {
                    span.end = message.timeUs();
                }
            }
        }
    }

    /** The phases of those iterations. */
    Optional<DlcStatistics.Phases> phases(Set<Integer> iterations) {
        int taken = 0;
        long computing = 0;
        long both = 0;
        long communicating = 0;
        for (Map.Entry<Place, Round> entry : rounds.entrySet()) {
            Round round = entry.getValue();
            if (iterations.contains(entry.getKey().iteration()) && round.whole()) {
                long overlap = covered(round);
                taken++;
                both += overlap;
                computing += round.lastPush - begin(entry.getKey(), round) - overlap;
                communicating += round.end() - round.lastPush;
            }
        }
        return taken == 0
                ? Optional.empty()
                : Optional.of(new DlcStatistics.Phases(
                        taken, (double) computing / taken, (double) both / taken, (double) communicating / taken));
    }

    /** Returns the time when the worker had the last value of the iteration before. */
    private long begin(Place place, Round round) {
        Round before = rounds.get(new Place(place.worker(), place.iteration() - 1));
        long known = before == null ? -1 : before.end();
        return Math.min(round.firstPush, known >= 0 ? known : round.firstPush - Math.max(0, round.delay));
    }

    /** Time before the last push that is in any key's span. */
    private static long covered(Round round) {
        List<Span> spans = new ArrayList<>(round.spans.values());
        spans.sort(Comparator.comparingLong(span -> span.begin));
        long covered = 0;
        long at = Long.MIN_VALUE;
        for (Span span : spans) {
            long begin = Math.max(at, span.begin);
            long end = Math.min(round.lastPush, span.end);
            covered += Math.max(0, end - begin);
            at = Math.max(at, end);
        }
        return covered;
    }
}
