package dev.banyan.dlc.internal.replay;

import dev.banyan.dlc.internal.format.DlcMessage;
import dev.banyan.dlc.internal.run.DlcRun;
import dev.banyan.schedule.Chunk;
import dev.banyan.schedule.Location;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.Space;
import dev.banyan.schedule.Step;
import dev.banyan.schedule.type.Collective;
import dev.banyan.simulate.Job;
import dev.banyan.simulate.Simulation;
import dev.banyan.simulate.Simulator;
import java.util.ArrayList;
import java.util.DoubleSummaryStatistics;
import java.util.List;
import java.util.LongSummaryStatistics;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Carries the iterations of a recorded run out on the links of a simulator's machine: the same messages, each
 * after those that it waited for. What the recorded nodes did between messages takes as long as it took then:
 * computation before a push, and a server's work where its trace is there too. How long messages take is
 * predicted. If no server's trace records what an acknowledgement waited for, it is assumed to
 * follow the pushes of its key by all recorded workers at once, as in synchronous training.
 *
 * <p>Worker w is rank w. Server s is rank W + s if the machine has a device for every node, else it is rank s
 * modulo the number of ranks, on a worker's device. Each worker's first iteration begins at time 0.
 *
 * <p>O(m log m) time for m messages, and that of the simulation.
 */
public final class DlcReplay {
    private final Messages messages;
    private final int ranks;
    private final boolean apart;

    private DlcReplay(DlcRun run, int ranks) {
        messages = new Messages(run);
        this.ranks = ranks;
        int workers = messages.nodes().workers().size();
        int servers = messages.nodes().servers().size();
        if (workers > ranks) {
            throw new IllegalArgumentException("the trace is of " + workers + " workers and " + servers
                    + " servers, and there are " + ranks + " devices; name a machine with at least " + workers);
        }
        apart = workers + servers <= ranks;
    }

    /**
     * Replays a run.
     *
     * @param run the traces; those of its workers, and of its servers if there are any
     * @param simulator the machine, with paths between all of its ranks
     * @param ranks how many these are
     * @throws IllegalArgumentException if the machine has too few devices, or no worker's trace has an iteration
     */
    public static Replayed run(DlcRun run, Simulator simulator, int ranks) {
        return new DlcReplay(run, ranks).replay(simulator);
    }

    private Replayed replay(Simulator simulator) {
        List<Message> order = messages.inOrder();
        List<Job> jobs = new ArrayList<>();
        for (Message message : order) {
            message.job = jobs.size();
            List<Integer> after =
                    message.after.stream().map(before -> before.job).toList();
            jobs.add(new Job(copy(message), message.startUs, after, message.delayUs));
        }
        Simulation simulation = simulator.run(jobs);
        SortedMap<Integer, Times> keys = new TreeMap<>();
        double end = 0;
        long tracedEnd = 0;
        for (Message message : order) {
            Message push = messages.pushOf(message);
            DlcMessage pulled = message.received();
            DlcMessage pushed = push == null ? null : push.sent();
            if (message.isPull() && push != null && pushed != null && pulled != null) {
                double done = simulation.endUs(message.job);
                Times times = keys.computeIfAbsent(message.id.exchange().key(), key -> new Times());
                times.traced.accept(pulled.timeUs() - pushed.timeUs());
                times.predicted.accept(done - begin(jobs.get(push.job), simulation));
                end = Math.max(end, done);
                tracedEnd = Math.max(tracedEnd, pulled.timeUs() - messages.beginUs(pulled.worker()));
            }
        }
        return new Replayed(
                order.size(),
                messages.iterations(),
                tracedEnd,
                end,
                apart,
                keys.entrySet().stream()
                        .map(entry -> new Replayed.KeyTime(
                                entry.getKey(),
                                entry.getValue().traced.getAverage(),
                                entry.getValue().predicted.getAverage()))
                        .toList());
    }

    /** The times of a key, from pushes to values. */
    private static final class Times {
        final LongSummaryStatistics traced = new LongSummaryStatistics();
        final DoubleSummaryStatistics predicted = new DoubleSummaryStatistics();
    }

    private static double begin(Job job, Simulation simulation) {
        double ready = job.startUs();
        for (int before : job.after()) {
            ready = Math.max(ready, simulation.endUs(before) + job.delayUs());
        }
        return ready;
    }

    private Schedule copy(Message message) {
        int from = rank(message.any().src());
        int to = rank(message.any().dst());
        long bytes = message.any().length();
        List<Chunk> chunks = bytes == 0
                ? List.of()
                : List.of(new Chunk(
                        bytes,
                        List.of(new Step(
                                List.of(new Location(from, Space.INPUT, 0)),
                                new Location(to, Space.OUTPUT, 0),
                                List.of()))));
        return new Schedule("message", Collective.BROADCAST, ranks, from, bytes, 1, false, 0, chunks);
    }

    private int rank(int node) {
        int worker = messages.nodes().workers().indexOf(node);
        if (worker >= 0) {
            return worker;
        }
        int server = messages.nodes().servers().indexOf(node);
        return apart ? messages.nodes().workers().size() + server : server % ranks;
    }
}
