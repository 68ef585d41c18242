package dev.banyan.dlc.internal.run;

import dev.banyan.dlc.internal.format.DlcMessage;
import java.util.Comparator;

/** A key's four messages between a worker and a server in one iteration. */
public record Exchange(int iteration, int key, int worker, int server) implements Comparable<Exchange> {
    private static final Comparator<Exchange> ORDER = Comparator.comparingInt(Exchange::iteration)
            .thenComparingInt(Exchange::key)
            .thenComparingInt(Exchange::worker)
            .thenComparingInt(Exchange::server);

    public static Exchange of(DlcMessage message) {
        return new Exchange(message.iteration(), message.key(), message.worker(), message.server());
    }

    @Override
    public int compareTo(Exchange other) {
        return ORDER.compare(this, other);
    }
}
