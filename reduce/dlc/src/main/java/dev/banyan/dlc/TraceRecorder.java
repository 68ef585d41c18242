package dev.banyan.dlc;

import dev.banyan.kvstore.KeyInfo;
import dev.banyan.kvstore.StoreListener;
import dev.banyan.kvstore.StoreOperation;
import java.io.IOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;

/**
 * Records what a store does, as the traces of its devices. Attach it by {@link
 * dev.banyan.kvstore.KVStore#setListener}; a store without it pays for nothing but to see that there is
 * none.
 *
 * <p>Of n devices, device d is worker d, and server d for the keys whose values it holds. Worker 0 initialises
 * keys. A collective moves the data of all devices at once, so that their traces have the same times: a push is sent
 * when it is submitted; the server has it when the reduction has ended, and acknowledges when the updater has; the
 * value is asked for when the broadcast begins, and there when it has ended. A push-pull that is one collective has
 * its acknowledgement, request and value when that has ended. Lengths are those of the arrays; acknowledgements and
 * requests have none. Operations that failed, or have not ended, are left out.
 *
 * <p>Keeps everything in memory, about 100 bytes for each stage of an operation, until {@link #traces} is asked.
 * Safe for use from any thread.
 */
public final class TraceRecorder implements StoreListener {
    private final DlcHeader workerHeader;
    private final DlcHeader serverHeader;
    private final long beginNanos = System.nanoTime();
    private final long beginUs = ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
    private final Queue<Event> events = new ConcurrentLinkedQueue<>();

    /** Something that the store told. */
    private sealed interface Event {}

    private record Initialized(KeyInfo key, long timeUs) implements Event {}

    private record Submitted(StoreOperation operation, long timeUs) implements Event {}

    private record Began(StoreOperation operation, Stage stage, long timeUs) implements Event {}

    private record Ended(StoreOperation operation, Stage stage, long timeUs) implements Event {}

    /**
     * A recorder that has heard nothing.
     *
     * @param devices number of the store's devices
     * @param hostname name of this machine, without blanks
     */
    public TraceRecorder(int devices, String hostname) {
        workerHeader = DlcHeader.of(DlcRole.WORKER, hostname, devices, devices);
        serverHeader = DlcHeader.of(DlcRole.SERVER, hostname, devices, devices);
    }

    private long timeUs(long nanos) {
        return beginUs + TimeUnit.NANOSECONDS.toMicros(nanos - beginNanos);
    }

    @Override
    public void initialized(KeyInfo key, long nanos) {
        events.add(new Initialized(key, timeUs(nanos)));
    }

    @Override
    public void submitted(StoreOperation operation, long nanos) {
        events.add(new Submitted(operation, timeUs(nanos)));
    }

    @Override
    public void began(StoreOperation operation, Stage stage, long nanos) {
        events.add(new Began(operation, stage, timeUs(nanos)));
    }

    @Override
    public void ended(StoreOperation operation, Stage stage, long nanos) {
        events.add(new Ended(operation, stage, timeUs(nanos)));
    }

    /** Nothing is recorded of it: an operation without an end is left out. */
    @Override
    public void failed(StoreOperation operation, Throwable cause, long nanos) {}

    /**
     * What was recorded so far, by node: workers first. Nodes that sent and received nothing are left out. O(e log
     * e) time for e events, times the number of devices.
     */
    public List<DlcTrace> traces() {
        RecordedRun run = new RecordedRun();
        for (Event event : events) {
            switch (event) {
                case Initialized made -> run.initialized(made.key(), made.timeUs());
                case Submitted asked -> run.submitted(asked.operation(), asked.timeUs());
                case Began began -> run.began(began.operation(), began.stage(), began.timeUs());
                case Ended ended -> run.ended(ended.operation(), ended.stage(), ended.timeUs());
            }
        }
        List<KeyRound> rounds = run.rounds();
        List<DlcTrace> traces = new ArrayList<>();
        for (int worker : workerHeader.workers()) {
            add(traces, workerHeader, new WorkerRecords(workerHeader, worker).records(rounds));
        }
        for (int server : serverHeader.servers()) {
            add(traces, serverHeader, new ServerRecords(serverHeader, server).records(rounds));
        }
        return traces;
    }

    private static void add(List<DlcTrace> traces, DlcHeader header, List<DlcRecord> records) {
        Optional.of(records).filter(some -> !some.isEmpty()).ifPresent(some -> traces.add(new DlcTrace(header, some)));
    }

    /**
     * Writes a file for each node, {@code worker-0.txt} and so on; {@code server-0.txt} is of device 0.
     *
     * @param folder where to; made if it is not there
     * @return the files, in the order of {@link #traces}
     * @throws IOException if that fails
     */
    public List<Path> write(Path folder) throws IOException {
        Files.createDirectories(folder);
        List<Path> files = new ArrayList<>();
        for (DlcTrace trace : traces()) {
            DlcMessage first = trace.messages().findFirst().orElseThrow();
            DlcRole role = trace.header().role();
            int node = role == DlcRole.WORKER ? first.worker() : first.server();
            Path file = folder.resolve(role.label() + "-" + trace.header().index(role, node) + ".txt");
            try (Writer writer = Files.newBufferedWriter(file)) {
                DlcWriter.write(trace, writer);
            }
            files.add(file);
        }
        return files;
    }
}
