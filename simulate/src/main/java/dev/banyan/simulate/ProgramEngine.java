package dev.banyan.simulate;

import dev.banyan.simulate.internal.rate.Clock;
import dev.banyan.simulate.internal.rate.EventQueue;
import dev.banyan.simulate.internal.rate.FairShares;
import dev.banyan.simulate.internal.rate.SharedEnds;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One run of a device program. An event is that a block begins or that it starts a slice; ends of flows come from
 * {@link SharedEnds}. A loop starts its next slice as soon as it is known when all that it waits for has been seen.
 */
final class ProgramEngine implements FairShares.Listener {
    private static final int BEGIN = 0;
    private static final int KINDS = 1;
    private static final long NOT_YET = -1;

    private final Wiring wiring;
    private final ProgramWorkload work;
    private final EventQueue queue = new EventQueue();
    private final FairShares shares;
    private final SharedEnds ends;
    private final long launch;
    private final long launchStep;
    private final long slice;
    private final long end;
    private final long arrival;
    private final @Nullable SimulationListener listener;

    private long now;
    private long lastEnd;
    private int blocksLeft;

    /** By block: the position of its loop, in the order of its loops. */
    private final int[] position;
    /** By loop: when it began, the slices that it has moved, when it moved each, and whether it is at one now. */
    private final long[] begun;

    private final int[] moved;
    private final long[][] movedAt;
    private final boolean[] isBusy;
    private final int[] flowsLeft;

    /** By flow: whether it has moved all its bytes at this tick and still counts as a user of its resources. */
    private final boolean[] ended;

    private final int[] endedFlows;
    private final double[] total;
    /** By flow: when its slice started, and its bytes. */
    private final long[] startedAt;

    private final double[] part;

    /** @param listener receives what the run does; null for none */
    ProgramEngine(Wiring wiring, ProgramWorkload work, Profile profile, @Nullable SimulationListener listener) {
        this.listener = listener;
        this.wiring = wiring;
        this.work = work;
        launch = Clock.ofUs(profile.get(Constant.PROGRAM_LAUNCH_US));
        launchStep = Clock.ofUs(profile.get(Constant.PROGRAM_LAUNCH_STEP_US));
        slice = work.inLines ? 0 : Clock.ofUs(profile.get(Constant.PROGRAM_SLICE_US));
        arrival = Clock.ofUs(profile.get(work.inLines ? Constant.PROGRAM_LINE_US : Constant.PROGRAM_FLAG_US));
        end = Clock.ofUs(profile.get(Constant.PROGRAM_END_US));
        shares = new FairShares(work.pathStart, work.path, work.capacity, work.queueing);
        ends = new SharedEnds(work.pathStart, work.path, work.capacity.length);
        position = new int[work.blocks.size()];
        begun = new long[work.loops];
        Arrays.fill(begun, NOT_YET);
        moved = new int[work.loops];
        movedAt = new long[work.loops][];
        for (int loop = 0; loop < work.loops; loop++) {
            movedAt[loop] = new long[work.slices[loop]];
        }
        isBusy = new boolean[work.loops];
        flowsLeft = new int[work.loops];
        int flows = work.loopOfFlow.length;
        ended = new boolean[flows];
        endedFlows = new int[flows];
        total = new double[flows];
        startedAt = new long[flows];
        part = new double[flows];
    }

    Simulation run() {
        blocksLeft = work.blocks.size();
        lastEnd = launch + (wiring.ranks - 1) * launchStep;
        for (int block = 0; block < work.blocks.size(); block++) {
            int rank = work.rank[work.blocks.get(block)[0]];
            queue.push(launch + rank * launchStep, block << KINDS | BEGIN);
        }
        while (!queue.isEmpty() || !ends.isEmpty()) {
            now = queue.isEmpty() ? ends.next() : Math.min(queue.nextTime(), ends.next());
            while (!queue.isEmpty() && queue.nextTime() == now) {
                int event = queue.pop();
                if ((event & (1 << KINDS) - 1) == BEGIN) {
                    beginLoop(event >>> KINDS);
                } else {
                    start(event >>> KINDS);
                }
            }
            int endedCount = ends.take(now, endedFlows);
            for (int i = 0; i < endedCount; i++) {
                ended[endedFlows[i]] = true;
                report(endedFlows[i]);
            }
            for (int i = 0; i < endedCount; i++) {
                int loop = work.loopOfFlow[endedFlows[i]];
                if (--flowsLeft[loop] == 0) {
                    sliceMoved(loop);
                }
            }
            for (int i = 0; i < endedCount; i++) {
                int flow = endedFlows[i];
                if (ended[flow]) {
                    ended[flow] = false;
                    shares.remove(flow, now);
                }
            }
            shares.settle(this);
            ends.settle(now);
        }
        if (blocksLeft > 0) {
            throw new IllegalStateException(blocksLeft + " blocks wait for ever; the program was not verified");
        }
        return result();
    }

    private void beginLoop(int block) {
        int loop = work.blocks.get(block)[position[block]];
        begun[loop] = now;
        advance(loop);
        work.followers.get(loop).forEach(this::advance);
    }

    /** Starts the next slice of a loop, now or later, if it is known when. */
    private void advance(int loop) {
        int next = moved[loop];
        if (begun[loop] == NOT_YET || isBusy[loop] || next == work.slices[loop]) {
            return;
        }
        long at = now;
        for (ProgramWorkload.Wait wait : work.waits.get(loop)) {
            long seen = seen(wait, next);
            if (seen == NOT_YET) {
                return;
            }
            at = Math.max(at, seen);
        }
        isBusy[loop] = true;
        at += slice;
        if (at == now) {
            start(loop);
        } else {
            queue.push(at, loop << KINDS | (BEGIN + 1));
        }
    }

    /** Returns when a loop sees what it waits for before a slice, or that this is not known yet. */
    private long seen(ProgramWorkload.Wait wait, int next) {
        int other = wait.loop();
        if (begun[other] == NOT_YET) {
            return NOT_YET;
        }
        if (wait.lag() == ProgramWorkload.Wait.READINESS || next < wait.lag()) {
            return begun[other] + wait.ticks();
        }
        int needed = next - wait.lag();
        return moved[other] > needed ? movedAt[other][needed] + wait.ticks() : NOT_YET;
    }

    private void start(int loop) {
        double bytes = moved[loop] == work.slices[loop] - 1 ? work.lastBytes[loop] : work.sliceBytes[loop];
        int first = work.flowStart[loop];
        int last = work.flowStart[loop + 1];
        flowsLeft[loop] = last - first;
        for (int flow = first; flow < last; flow++) {
            startedAt[flow] = now;
            part[flow] = bytes * work.weight[flow];
            total[flow] += part[flow];
            if (ended[flow]) {
                // The flow continues on its resources, so that no rate changes.
                ended[flow] = false;
                ends.resume(flow, part[flow], now);
            } else {
                ends.begin(flow, part[flow]);
                shares.add(flow, now);
            }
        }
        if (first == last) {
            sliceMoved(loop);
        }
    }

    private void report(int flow) {
        if (listener == null) {
            return;
        }
        int loop = work.loopOfFlow[flow];
        double startUs = Clock.toUs(startedAt[flow]);
        double endUs = Clock.toUs(now);
        if (work.target[flow] < 0) {
            listener.reduced(new SimulationListener.Reduction(
                    0, work.lane[loop], work.step[flow], work.rank[loop], part[flow], startUs, endUs));
            return;
        }
        List<Integer> arcs = new ArrayList<>();
        // The first resource of a path is the flow's own.
        for (int entry = work.pathStart[flow] + 1; entry < work.pathStart[flow + 1]; entry++) {
            arcs.add(work.path[entry]);
        }
        listener.transferred(new SimulationListener.Transfer(
                0,
                work.lane[loop],
                work.step[flow],
                work.rank[loop],
                work.target[flow],
                arcs,
                part[flow],
                startUs,
                endUs,
                Clock.toUs(now + arrival)));
    }

    private void sliceMoved(int loop) {
        isBusy[loop] = false;
        movedAt[loop][moved[loop]++] = now;
        if (moved[loop] < work.slices[loop]) {
            advance(loop);
        } else {
            loopEnded(work.blockOf[loop]);
        }
        work.followers.get(loop).forEach(this::advance);
    }

    private void loopEnded(int block) {
        if (++position[block] < work.blocks.get(block).length) {
            beginLoop(block);
        } else {
            blocksLeft--;
            lastEnd = Math.max(lastEnd, now);
        }
    }

    @Override
    public void levelChanged(int resource, double level) {
        ends.setLevel(resource, level, now);
    }

    @Override
    public void slowedBy(int flow, int resource) {
        ends.slow(flow, resource, now);
    }

    private Simulation result() {
        int resources = wiring.capacity.length;
        double[] bytes = new double[resources];
        double[] busyUs = new double[resources];
        for (int resource = 0; resource < resources; resource++) {
            busyUs[resource] = Clock.toUs(shares.busy(resource));
        }
        for (int flow = 0; flow < total.length; flow++) {
            // The first resource of a path is the flow's own.
            for (int entry = work.pathStart[flow] + 1; entry < work.pathStart[flow + 1]; entry++) {
                bytes[work.path[entry]] += total[flow];
            }
        }
        double[] jobEnd = {Clock.toUs(lastEnd + end)};
        return new Simulation(work.loops, jobEnd, wiring.network.arcs(), bytes, busyUs);
    }
}
