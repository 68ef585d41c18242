package dev.banyan.kvstore;

import dev.banyan.kvstore.engine.DependencyEngine;
import dev.banyan.kvstore.engine.Lane;
import dev.banyan.reduce.Communicator;
import java.util.ArrayList;
import java.util.List;
import java.util.PriorityQueue;

/**
 * Carries transfers out, one collective at a time, as the communicator does it. What follows each other in the order
 * of turns, is small and fits together shares one collective. While nothing is to be sent it holds no thread.
 */
final class Sender {
    private final Communicator communicator;
    private final DependencyEngine engine;
    private final FusionBuffer fusion;
    /** Also the lock of it and of {@link #sending}. */
    private final PriorityQueue<Transfer> waiting = new PriorityQueue<>(Transfer.ORDER);

    private boolean sending;

    /** @param fusionBytes greatest length of what shares a collective; 0 for none */
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

    /** Those that go together next; none if nothing waits, and then the next one starts the sender anew. */
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
