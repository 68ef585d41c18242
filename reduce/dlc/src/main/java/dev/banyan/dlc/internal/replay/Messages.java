package dev.banyan.dlc.internal.replay;

import dev.banyan.dlc.DlcTrace;
import dev.banyan.dlc.internal.format.DlcDependency;
import dev.banyan.dlc.internal.format.DlcHeader;
import dev.banyan.dlc.internal.format.DlcMessage;
import dev.banyan.dlc.internal.format.DlcOperation;
import dev.banyan.dlc.internal.format.DlcOperationId;
import dev.banyan.dlc.internal.format.DlcRole;
import dev.banyan.dlc.internal.run.DlcRun;
import dev.banyan.dlc.internal.run.Exchange;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The messages of a run's iterations between nodes that recorded it, with what each waits for. */
final class Messages {
    private final DlcHeader nodes;
    private final Set<Integer> iterations;
    private final Map<Message.Id, Message> messages = new HashMap<>();
    /** By worker: when its first iteration begins. */
    private final Map<Integer, Long> beginUs = new HashMap<>();

    Messages(DlcRun run) {
        iterations = run.iterations();
        Set<Integer> workers = run.messages()
                .filter(record -> record.operation() == DlcOperation.PUSH_SEND_WORKER)
                .filter(record -> iterations.contains(record.iteration()))
                .map(DlcMessage::worker)
                .collect(Collectors.toSet());
        if (workers.isEmpty()) {
            throw new IllegalArgumentException(
                    "no worker's trace has an iteration; a replay needs the traces of workers, which record when"
                            + " gradients are ready");
        }
        nodes = run.traces().getFirst().header();
        for (DlcTrace trace : run.traces()) {
            if (!trace.header().workers().equals(nodes.workers())
                    || !trace.header().servers().equals(nodes.servers())) {
                throw new IllegalArgumentException(
                        "the traces are of different runs: their headers name other workers or servers; replay the"
                                + " traces of one run");
            }
        }
        run.messages()
                .filter(record -> workers.contains(record.worker()) && iterations.contains(record.iteration()))
                .forEach(record -> messages.computeIfAbsent(Message.Id.of(record), Message::new)
                        .add(record));
        List<Past> pasts = run.traces().stream().map(Past::new).toList();
        pasts.forEach(this::findBegin);
        pasts.forEach(this::addDependencies);
        messages.values().forEach(this::completeDependencies);
    }

    DlcHeader nodes() {
        return nodes;
    }

    int iterations() {
        return iterations.size();
    }

    /** Returns the begin of a worker's first iteration, in us since 1970 by its clock. */
    long beginUs(int worker) {
        return beginUs.getOrDefault(worker, 0L);
    }

    /** The push that a message follows. */
    @Nullable
    Message pushOf(Message message) {
        return messages.get(new Message.Id(message.id.exchange(), 0));
    }

    /** One node's records, by operation. */
    private static final class Past {
        private final List<DlcMessage> records;
        private final Map<DlcOperationId, DlcMessage> byOperation = new HashMap<>();
        private final Map<Integer, List<DlcMessage>> byNumber = new HashMap<>();

        Past(DlcTrace trace) {
            records = trace.messages().toList();
            for (DlcMessage record : records) {
                byOperation.put(record.operationId(), record);
                byNumber.computeIfAbsent(record.operationId().number(), number -> new ArrayList<>())
                        .add(record);
            }
        }

        /** The records of what a record waited for. */
        List<DlcMessage> before(DlcMessage record) {
            List<DlcMessage> before = new ArrayList<>();
            for (DlcDependency dependency : record.dependencies()) {
                if (dependency.key().isPresent()) {
                    DlcMessage found = byOperation.get(new DlcOperationId(
                            dependency.key().getAsInt(),
                            dependency.number(),
                            dependency.peerRole(),
                            dependency.peer()));
                    if (found != null) {
                        before.add(found);
                    }
                } else {
                    byNumber.getOrDefault(dependency.number(), List.of()).stream()
                            .filter(other -> dependency.matches(other.operationId()))
                            .forEach(before::add);
                }
            }
            return before;
        }

        /** Returns the time for which the node worked before a message, once all that it waited for was there. */
        long delayUs(DlcMessage record) {
            OptionalLong last =
                    before(record).stream().mapToLong(DlcMessage::timeUs).max();
            return last.isPresent() ? record.timeUs() - last.getAsLong() : record.delayUs();
        }
    }

    private void findBegin(Past past) {
        for (DlcMessage record : past.records) {
            if (record.operation() == DlcOperation.PUSH_SEND_WORKER && iterations.contains(record.iteration())) {
                long begin = record.timeUs() - Math.max(0, past.delayUs(record));
                beginUs.merge(record.worker(), begin, Math::min);
            }
        }
    }

    private void addDependencies(Past past) {
        for (DlcMessage record : past.records) {
            Message message = messages.get(Message.Id.of(record));
            if (message == null || !Message.bySender(record)) {
                continue;
            }
            List<Message> before = past.before(record).stream()
                    .map(other -> messages.get(Message.Id.of(other)))
                    .filter(other -> other != null && other != message)
                    .toList();
            if (!before.isEmpty()) {
                message.after.addAll(before);
                message.delayUs = Math.max(0, past.delayUs(record));
            } else if (record.operation().role() == DlcRole.WORKER) {
                message.startUs = Math.max(0, record.timeUs() - beginUs(record.worker()));
            }
        }
    }

    /**
     * Adds dependencies that no node recorded: a message follows the one before, and an acknowledgement all pushes of
     * the key.
     */
    private void completeDependencies(Message message) {
        int number = message.id.message();
        Exchange id = message.id.exchange();
        if (number == 0 || !message.after.isEmpty()) {
            return;
        }
        Message previous = messages.get(new Message.Id(id, number - 1));
        if (previous != null) {
            message.after.add(previous);
            message.startUs = 0;
        }
        if (number == DlcOperation.PUSH_RECV_WORKER.message()) {
            for (int worker : beginUs.keySet()) {
                Message push =
                        messages.get(new Message.Id(new Exchange(id.iteration(), id.key(), worker, id.server()), 0));
                if (push != null) {
                    message.after.add(push);
                }
            }
        }
    }

    /** All messages, each after those that it waits for; else by time. */
    List<Message> inOrder() {
        Map<Message, Integer> waits = new HashMap<>();
        Map<Message, List<Message>> followers = new HashMap<>();
        PriorityQueue<Message> ready = new PriorityQueue<>(Comparator.<Message>comparingLong(message ->
                        message.any().timeUs() - beginUs(message.id.exchange().worker()))
                .thenComparing(message -> message.id));
        for (Message message : messages.values()) {
            waits.put(message, message.after.size());
            message.after.forEach(before -> followers
                    .computeIfAbsent(before, which -> new ArrayList<>())
                    .add(message));
            if (message.after.isEmpty()) {
                ready.add(message);
            }
        }
        List<Message> order = new ArrayList<>();
        while (!ready.isEmpty()) {
            Message message = ready.remove();
            order.add(message);
            for (Message follower : followers.getOrDefault(message, List.of())) {
                if (waits.merge(follower, -1, Integer::sum) == 0) {
                    ready.add(follower);
                }
            }
        }
        if (order.size() < messages.size()) {
            throw new IllegalArgumentException((messages.size() - order.size())
                    + " messages wait for each other in a circle; the traces are no record of a run");
        }
        return order;
    }
}
