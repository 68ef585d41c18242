package dev.banyan.kvstore;

import dev.banyan.kvstore.engine.DependencyEngine;
import dev.banyan.kvstore.engine.Lane;
import dev.banyan.reduce.Communicator;
import java.util.ArrayList;
import java.util.List;
import java.util.PriorityQueue;

/**
 * Runs transfers, one collective at a time, as the communicator does. Small transfers that are next to each other in
 * the order of turns and fit together share one collective. It holds no thread while no transfer waits.
 */
final class Sender {
    private final Communicator communicator;
    private final DependencyEngine engine;
    private final FusionBuffer fusion;
    /** The waiting transfers. It is also the lock of itself and of {@link #sending}. */
    private final PriorityQueue<Transfer> waiting = new PriorityQueue<>(Transfer.ORDER);

    private boolean sending;

    /** @param fusionBytes greatest length in bytes of transfers that share a collective; 0 for no sharing */
    Sender(Communicator communicator, DependencyEngine engine, long fusionBytes) {
        this.communicator = communicator;
        this.engine = engine;
        fusion = new FusionBuffer(communicator, fusionBytes);
    }

    void add(Transfer transfer) {
        synchronized (waiting) {
            waiting.add(transfer);
            if (sending) {
                return;
            }
            sending = true;
        }
        engine.push(Lane.COMMUNICATION, this::send, List.of(), List.of(), 0);
    }

    private void send() {
        for (List<Transfer> batch = take(); !batch.isEmpty(); batch = take()) {
            carryOut(batch);
        }
    }

    /**
     * Returns the next transfers that share a collective. Without a waiting transfer it returns none, and the next
     * transfer starts the sender again.
     */
    private List<Transfer> take() {
        List<Transfer> batch = new ArrayList<>(1);
        synchronized (waiting) {
            Transfer first = waiting.poll();
            if (first == null) {
                sending = false;
                return batch;
            }
            batch.add(first);
            long bytes = first.bytes();
            for (Transfer next = waiting.peek();
                    next != null && next.goesWith(first) && bytes + next.bytes() <= fusion.capacity();
                    next = waiting.peek()) {
                batch.add(next);
                bytes += next.bytes();
                waiting.remove();
            }
        }
        return batch;
    }

    private void carryOut(List<Transfer> batch) {
        batch.forEach(Transfer::begin);
        try {
            if (batch.size() == 1) {
                communicator.run(batch.getFirst().call, batch.getFirst().way);
            } else {
                fusion.run(batch);
            }
        } catch (Throwable e) {
            batch.forEach(transfer -> transfer.fail(e));
            return;
        }
        batch.forEach(Transfer::succeed);
    }
}
