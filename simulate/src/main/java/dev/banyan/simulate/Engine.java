package dev.banyan.simulate;

import dev.banyan.simulate.internal.rate.Clock;
import dev.banyan.simulate.internal.rate.CopyEngines;
import dev.banyan.simulate.internal.rate.EventQueue;
import dev.banyan.simulate.internal.rate.FairShares;
import dev.banyan.simulate.internal.rate.ReadyQueues;
import dev.banyan.simulate.internal.rate.SharedEnds;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * One run of a simulation. The engine handles everything that happens at one tick together: first operations that
 * become ready or end, then operations that start, then the rates of flows that share links. It passes on a time as
 * soon as the time is known, so that an operation takes two events: it is ready, and its stream is free again. Ends
 * that a change of rates may still move are no events: {@link SharedEnds} finds the next of them.
 */
final class Engine implements FairShares.Listener, CopyEngines.Waiting {
    private static final int READY = 0;
    private static final int FREE = 1;
    private static final int CALL = 2;
    private static final int BEGIN = 3;
    private static final int KINDS = 2;

    private final List<Job> jobs;
    private final Wiring wiring;
    private final Workload work;
    private final @Nullable SimulationListener listener;
    /** Events as numbers: an index (of an operation, stream or job) and the kind of event in the lowest bits. */
    private final EventQueue queue = new EventQueue();

    private final FairShares shares;
    private final ReadyQueues queues;

    private final long launch;
    private final long kernel;
    private final long issue;
    private final long collective;

    private long now;
    private long hostFree;

    /** By step: the number of steps that it waits for; once it is ready, the number of copies that have not arrived. */
    private final int[] left;
    /** By step: the latest end of the steps and copies that it waited for so far. */
    private final long[] stepTime;
    /** By operation: when the host has issued it; empty if the profile's issue time is 0. */
    private final long[] issued;

    private final long[] rankFree;

    private final boolean[] running;
    private final int[] current;
    private final long[] started;
    private final long[] arrival;
    private final int[] flowsLeft;
    private final boolean[] touched;
    private final int[] touchedStreams;
    /** The next operation of each touched stream, while they are sorted. */
    private final int[] touchedOps;

    private int touchedCount;

    private final boolean enginesLimited;
    private final CopyEngines engines;

    private final SharedEnds ends;
    /** By flow: whether it has sent all its bytes at this tick and still counts as a user of its links. */
    private final boolean[] ended;

    private final int[] endedFlows;
    private int endedCount;
    private final double[] sent;
    /** By flow of an exclusive stream: ticks for which it was sending. */
    private final long[] busy;

    private final int[] jobWaits;
    private final long[] jobReady;
    private final int[] jobLeft;
    private final long[] jobEnd;
    private final List<List<Integer>> jobFollowers;

    Engine(List<Job> jobs, Wiring wiring, Workload work, Profile profile, @Nullable SimulationListener listener) {
        this.jobs = jobs;
        this.wiring = wiring;
        this.work = work;
        this.listener = listener;
        shares = new FairShares(wiring.pathStart, wiring.path, wiring.capacity, wiring.queueing);
        queues = new ReadyQueues(work.queueStart);
        launch = Clock.ofUs(profile.get(Constant.LAUNCH_US));
        kernel = Clock.ofUs(profile.get(Constant.KERNEL_US));
        issue = Clock.ofUs(profile.get(Constant.ISSUE_US));
        collective = Clock.ofUs(profile.get(Constant.COLLECTIVE_US));
        int enginesEach = (int) profile.get(Constant.COPY_ENGINES);
        enginesLimited = enginesEach < wiring.ranks - 1;
        engines = new CopyEngines(wiring.ranks, enginesEach);

        left = work.waits.clone();
        stepTime = new long[work.steps];
        issued = new long[issue > 0 ? work.bytes.length : 0];
        rankFree = new long[wiring.ranks];
        running = new boolean[wiring.streams];
        current = new int[wiring.streams];
        started = new long[wiring.streams];
        arrival = new long[wiring.streams];
        flowsLeft = new int[wiring.streams];
        touched = new boolean[wiring.streams];
        touchedStreams = new int[wiring.streams];
        touchedOps = new int[wiring.streams];
        int flows = wiring.share.length;
        ends = new SharedEnds(wiring.pathStart, wiring.path, wiring.capacity.length);
        ended = new boolean[flows];
        endedFlows = new int[flows];
        sent = new double[flows];
        busy = new long[flows];

        jobWaits = new int[work.jobs];
        jobReady = new long[work.jobs];
        jobLeft = new int[work.jobs];
        jobEnd = new long[work.jobs];
        jobFollowers = IntStream.range(0, work.jobs)
                .<List<Integer>>mapToObj(job -> new ArrayList<>())
                .toList();
    }

    Simulation run() {
        for (int job = 0; job < work.jobs; job++) {
            jobWaits[job] = jobs.get(job).after().size();
            jobReady[job] = Clock.ofUs(jobs.get(job).startUs());
            jobLeft[job] = work.jobStart[job + 1] - work.jobStart[job];
            for (int before : jobs.get(job).after()) {
                jobFollowers.get(before).add(job);
            }
            if (jobWaits[job] == 0) {
                push(jobReady[job], CALL, job);
            }
        }
        while (!queue.isEmpty() || !ends.isEmpty()) {
            now = queue.isEmpty() ? ends.next() : Math.min(queue.nextTime(), ends.next());
            while (!queue.isEmpty() && queue.nextTime() == now) {
                int event = queue.pop();
                int index = event >>> KINDS;
                switch (event & (1 << KINDS) - 1) {
                    case READY -> ready(index);
                    case FREE -> free(index);
                    case CALL -> call(index);
                    default -> begin(index);
                }
            }
            endedCount = ends.take(now, endedFlows);
            for (int i = 0; i < endedCount; i++) {
                sent(endedFlows[i]);
            }
            start();
            leaveLinks();
            shares.settle(this);
            ends.settle(now);
        }
        return result();
    }

    /** The host starts a collective after the one before, and issues its operations in order on each device. */
    private void call(int job) {
        hostFree = Math.max(hostFree, now) + collective;
        long begin = hostFree;
        jobEnd[job] = begin;
        for (int step = work.jobStart[job]; step < work.jobStart[job + 1]; step++) {
            for (int op = work.opStart[step]; op < work.opStart[step + 1]; op++) {
                if (issue > 0) {
                    int rank = wiring.to(work.streamOfOp[op]);
                    rankFree[rank] = Math.max(rankFree[rank], begin) + issue;
                    issued[op] = rankFree[rank];
                }
            }
        }
        push(begin + launch, BEGIN, job);
        if (jobLeft[job] == 0) {
            jobDone(job);
        }
    }

    /** Makes the steps of a job ready that wait for no other step. */
    private void begin(int job) {
        for (int step = work.jobStart[job]; step < work.jobStart[job + 1]; step++) {
            if (work.waits[step] == 0) {
                stepReady(step, now - launch);
            }
        }
    }

    private void push(long time, int kind, int index) {
        queue.push(time, index << KINDS | kind);
    }

    private void jobDone(int job) {
        for (int follower : jobFollowers.get(job)) {
            long delay = Clock.ofUs(jobs.get(follower).delayUs());
            jobReady[follower] = Math.max(jobReady[follower], jobEnd[job] + delay);
            if (--jobWaits[follower] == 0) {
                push(jobReady[follower], CALL, follower);
            }
        }
    }

    /** A step is ready when all steps before it are done, at the given time, which may lie ahead. */
    private void stepReady(int step, long time) {
        int first = work.opStart[step];
        int end = work.opStart[step + 1];
        boolean combines = work.endsWithKernel(step, wiring);
        left[step] = combines ? end - first - 1 : end - first;
        stepTime[step] = time;
        for (int op = first; op < first + left[step]; op++) {
            opReady(op, time, launch);
        }
        if (left[step] == 0) {
            opReady(first, time, launch + kernel);
        }
    }

    private void opReady(int op, long time, long delay) {
        long at = (issue > 0 ? Math.max(time, issued[op]) : time) + delay;
        if (at == now) {
            ready(op);
        } else {
            push(at, READY, op);
        }
    }

    private void opDone(int op, long time) {
        int step = work.stepOfOp[op];
        stepTime[step] = Math.max(stepTime[step], time);
        if (wiring.isKernel(work.streamOfOp[op])) {
            stepDone(step);
        } else if (--left[step] == 0) {
            if (work.endsWithKernel(step, wiring)) {
                opReady(work.opStart[step + 1] - 1, stepTime[step], launch + kernel);
            } else {
                stepDone(step);
            }
        }
    }

    private void stepDone(int step) {
        long time = stepTime[step];
        for (int i = work.followerStart[step]; i < work.followerStart[step + 1]; i++) {
            int follower = work.followers[i];
            stepTime[follower] = Math.max(stepTime[follower], time);
            if (--left[follower] == 0) {
                stepReady(follower, stepTime[follower]);
            }
        }
        int job = work.jobOfStep[step];
        jobEnd[job] = Math.max(jobEnd[job], time);
        if (--jobLeft[job] == 0) {
            jobDone(job);
        }
    }

    private void ready(int op) {
        int stream = work.streamOfOp[op];
        queues.makeReady(stream, op);
        touch(stream);
    }

    private void free(int stream) {
        running[stream] = false;
        touch(stream);
        if (enginesLimited && !wiring.isKernel(stream)) {
            engines.free(wiring.from(stream), wiring.to(stream), this);
        }
    }

    @Override
    public void canStart(int from, int to) {
        touch(from * wiring.ranks + to);
    }

    private void touch(int stream) {
        if (!touched[stream]) {
            touched[stream] = true;
            touchedStreams[touchedCount++] = stream;
        }
    }

    /** Starts the next operations of touched streams; their order matters only if copy engines are limited. */
    private void start() {
        if (enginesLimited && touchedCount > 1) {
            sortTouched();
        }
        for (int i = 0; i < touchedCount; i++) {
            int stream = touchedStreams[i];
            touched[stream] = false;
            if (!running[stream]) {
                int op = queues.next(stream);
                if (op >= 0 && takeEngines(stream)) {
                    queues.take(stream);
                    start(stream, op);
                }
            }
        }
        touchedCount = 0;
    }

    /** Sorts the touched streams by their next operations: an insertion sort, since they are few. */
    private void sortTouched() {
        for (int i = 0; i < touchedCount; i++) {
            int stream = touchedStreams[i];
            int op = queues.next(stream);
            int at = i;
            for (; at > 0 && touchedOps[at - 1] > op; at--) {
                touchedStreams[at] = touchedStreams[at - 1];
                touchedOps[at] = touchedOps[at - 1];
            }
            touchedStreams[at] = stream;
            touchedOps[at] = op;
        }
    }

    private boolean takeEngines(int stream) {
        return !enginesLimited || wiring.isKernel(stream) || engines.take(wiring.from(stream), wiring.to(stream));
    }

    private void start(int stream, int op) {
        running[stream] = true;
        current[stream] = op;
        started[stream] = now;
        int first = wiring.flowStart[stream];
        int end = wiring.flowStart[stream + 1];
        if (wiring.exclusive[stream]) {
            startAlone(stream, op, first, end);
            return;
        }
        arrival[stream] = now;
        flowsLeft[stream] = end - first;
        for (int flow = first; flow < end; flow++) {
            double part = work.bytes[op] * wiring.share[flow];
            if (ended[flow]) {
                // The flow continues on its links, so that no rate changes.
                ended[flow] = false;
                ends.resume(flow, part, now);
            } else {
                ends.begin(flow, part);
                shares.add(flow, now);
            }
        }
    }

    /** Starts an operation that shares no link: its rate cannot change, so that its end is known. */
    private void startAlone(int stream, int op, int first, int end) {
        long last = now;
        long arrived = now;
        for (int flow = first; flow < end; flow++) {
            double part = work.bytes[op] * wiring.share[flow];
            long over = Clock.later(now, part / wiring.narrowest[flow]);
            sent[flow] += part;
            busy[flow] += over - now;
            last = Math.max(last, over);
            arrived = Math.max(arrived, over + wiring.latency[flow]);
            if (listener != null) {
                report(listener, flow, stream, over);
            }
        }
        push(Math.max(last, now + launch), FREE, stream);
        opDone(op, arrived);
    }

    @Override
    public void levelChanged(int resource, double level) {
        ends.setLevel(resource, level, now);
    }

    @Override
    public void slowedBy(int flow, int resource) {
        ends.slow(flow, resource, now);
    }

    private void sent(int flow) {
        ended[flow] = true;
        int stream = wiring.streamOfFlow[flow];
        int op = current[stream];
        sent[flow] += work.bytes[op] * wiring.share[flow];
        arrival[stream] = Math.max(arrival[stream], now + wiring.latency[flow]);
        if (listener != null) {
            report(listener, flow, stream, now);
        }
        if (--flowsLeft[stream] == 0) {
            if (now >= started[stream] + launch) {
                free(stream);
            } else {
                push(started[stream] + launch, FREE, stream);
            }
            opDone(op, arrival[stream]);
        }
    }

    /** Removes the ended flows from their links, unless their stream has started another operation at this tick. */
    private void leaveLinks() {
        for (int i = 0; i < endedCount; i++) {
            int flow = endedFlows[i];
            if (ended[flow]) {
                ended[flow] = false;
                shares.remove(flow, now);
            }
        }
    }

    private void report(SimulationListener to, int flow, int stream, long over) {
        int op = current[stream];
        int step = work.stepOfOp[op];
        int job = work.jobOfStep[step];
        int chunk = work.chunkOf(step);
        int place = work.placeInChunk(step);
        double bytes = work.bytes[op] * wiring.share[flow];
        double start = Clock.toUs(started[stream]);
        if (wiring.isKernel(stream)) {
            to.reduced(new SimulationListener.Reduction(
                    job, chunk, place, wiring.to(stream), bytes, start, Clock.toUs(over)));
        } else {
            to.transferred(new SimulationListener.Transfer(
                    job,
                    chunk,
                    place,
                    wiring.from(stream),
                    wiring.to(stream),
                    Arrays.stream(wiring.path, wiring.pathStart[flow], wiring.pathStart[flow + 1])
                            .filter(resource -> resource < wiring.network.arcs())
                            .boxed()
                            .toList(),
                    bytes,
                    start,
                    Clock.toUs(over),
                    Clock.toUs(over + wiring.latency[flow])));
        }
    }

    private Simulation result() {
        double[] bytes = new double[wiring.capacity.length];
        double[] busyUs = new double[wiring.capacity.length];
        for (int resource = 0; resource < busyUs.length; resource++) {
            busyUs[resource] = Clock.toUs(shares.busy(resource));
        }
        for (int flow = 0; flow < sent.length; flow++) {
            for (int entry = wiring.pathStart[flow]; entry < wiring.pathStart[flow + 1]; entry++) {
                bytes[wiring.path[entry]] += sent[flow];
                busyUs[wiring.path[entry]] += Clock.toUs(busy[flow]);
            }
        }
        double[] ends = Arrays.stream(jobEnd).mapToDouble(Clock::toUs).toArray();
        return new Simulation(work.steps, ends, wiring.network.arcs(), bytes, busyUs);
    }
}
