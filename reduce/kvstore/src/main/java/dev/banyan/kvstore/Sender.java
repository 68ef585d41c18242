package dev.banyan.kvstore;

import dev.banyan.kvstore.internal.engine.DependencyEngine;
import dev.banyan.kvstore.internal.engine.Lane;
import dev.banyan.reduce.Communicator;
import java.util.ArrayList;
import java.util.List;
import java.util.PriorityQueue;

/**
 * Runs transfers that are next to each other in the order of turns as one batch, one batch at a time. Where devices
 * have memory of their own, a batch takes transfers of any kind. On the host backend it is one collective, which small
 * transfers that fit together share. It holds no thread while no transfer waits.
 */
final class Sender {
    /**
     * Greatest length of a batch of several transfers on one device, in bytes: a transfer of greater priority that
     * comes later waits for no more than this.
     */
    private static final long BATCH_BYTES = 64 << 20;

    private final Communicator communicator;
    private final DependencyEngine engine;
    private final FusionBuffer fusion;
    /** The waiting transfers. It is also the lock of itself and of the fields below. */
    private final PriorityQueue<Transfer> waiting = new PriorityQueue<>(Transfer.ORDER);

    private boolean sending;
    /** Number of calls that hold transfers back. */
    private int holds;

    /** @param fusionBytes greatest length in bytes of transfers that share a collective; 0 for no sharing */
    Sender(Communicator communicator, DependencyEngine engine, long fusionBytes) {
        this.communicator = communicator;
        this.engine = engine;
        fusion = new FusionBuffer(communicator, fusionBytes);
    }

    void add(Transfer transfer) {
        synchronized (waiting) {
            waiting.add(transfer);
        }
        startSending();
    }

    /** Begins no batch until {@link #release}, so that transfers that are added together go together. */
    void hold() {
        synchronized (waiting) {
            holds++;
        }
    }

    /** Ends a {@link #hold}. */
    void release() {
        synchronized (waiting) {
            holds--;
        }
        startSending();
    }

    private void startSending() {
        synchronized (waiting) {
            if (sending || holds > 0 || waiting.isEmpty()) {
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
     * Returns the transfers of the next batch. Without one that may begin it returns none, and the next transfer or the
     * end of the hold starts the sender again.
     */
    private List<Transfer> take() {
        List<Transfer> batch = new ArrayList<>(1);
        synchronized (waiting) {
            Transfer first = holds > 0 ? null : waiting.poll();
            if (first == null) {
                sending = false;
                return batch;
            }
            batch.add(first);
            long bytes = first.bytes();
            for (Transfer next = waiting.peek();
                    next != null && goTogether(first, next, bytes + next.bytes());
                    next = waiting.peek()) {
                batch.add(next);
                bytes += next.bytes();
                waiting.remove();
            }
        }
        return batch;
    }

    private boolean goTogether(Transfer first, Transfer next, long bytes) {
        return communicator.inHostMemory() ? bytes <= fusion.capacity() && next.goesWith(first) : bytes <= BATCH_BYTES;
    }

    private void carryOut(List<Transfer> batch) {
        batch.forEach(Transfer::begin);
        try {
            if (!communicator.inHostMemory()) {
                Batch together = Batch.of(batch);
                communicator.runAll(together.sums(), together.updates(), together.results());
            } else if (batch.size() == 1) {
                communicator.run(batch.getFirst().only());
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
