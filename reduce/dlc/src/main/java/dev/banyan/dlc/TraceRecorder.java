package dev.banyan.dlc;

import dev.banyan.dlc.internal.format.DlcHeader;
import dev.banyan.dlc.internal.format.DlcMessage;
import dev.banyan.dlc.internal.format.DlcRole;
import dev.banyan.dlc.internal.record.KeyRound;
import dev.banyan.dlc.internal.record.RecordedRun;
import dev.banyan.dlc.internal.record.ServerRecords;
import dev.banyan.dlc.internal.record.WorkerRecords;
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
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

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
    private final Queue<Consumer<RecordedRun>> events = new ConcurrentLinkedQueue<>();

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
        long timeUs = timeUs(nanos);
        events.add(run -> run.initialized(key, timeUs));
    }

    @Override
    public void submitted(StoreOperation operation, long nanos) {
        long timeUs = timeUs(nanos);
        events.add(run -> run.submitted(operation, timeUs));
    }

    @Override
    public void began(StoreOperation operation, Stage stage, long nanos) {
        long timeUs = timeUs(nanos);
        events.add(run -> run.began(operation, stage, timeUs));
    }

    @Override
    public void ended(StoreOperation operation, Stage stage, long nanos) {
        long timeUs = timeUs(nanos);
        events.add(run -> run.ended(operation, stage, timeUs));
    }

    /** Nothing is recorded of it: an operation without an end is left out. */
    @Override
    public void failed(StoreOperation operation, Throwable cause, long nanos) {}

    /**
     * Returns the record so far, by node: workers first. Nodes that sent and received nothing are left out. O(e log e)
     * time for e events, times the number of devices.
     */
    public List<DlcTrace> traces() {
        RecordedRun run = new RecordedRun();
        events.forEach(event -> event.accept(run));
        List<KeyRound> rounds = run.rounds();
        List<DlcTrace> traces = new ArrayList<>();
        for (int worker : workerHeader.workers()) {
            traces.add(new DlcTrace(workerHeader, new WorkerRecords(workerHeader, worker).records(rounds)));
        }
        for (int server : serverHeader.servers()) {
            traces.add(new DlcTrace(serverHeader, new ServerRecords(serverHeader, server).records(rounds)));
        }
        traces.removeIf(trace -> trace.size() == 0);
        return traces;
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
