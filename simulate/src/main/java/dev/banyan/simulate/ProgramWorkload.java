package dev.banyan.simulate;

import dev.banyan.schedule.internal.program.Channel;
import dev.banyan.schedule.internal.program.Grid;
import dev.banyan.schedule.internal.program.Lane;
import dev.banyan.schedule.internal.program.Move;
import dev.banyan.schedule.internal.program.Operand;
import dev.banyan.schedule.internal.program.ProgramLayout;
import dev.banyan.simulate.internal.rate.Clock;
import java.nio.LongBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;

/**
 * The loops of a laid-out program as flat arrays, numbered through in the order of lanes and moves. A loop has a flow
 * for each path over which it stores to another device, and one through the memory of its own device. Each flow has a
 * resource of its own, which limits it to what the block can do. Immutable.
 */
final class ProgramWorkload {
    private static final double THREADS_OF_A_BLOCK = 512;
    /** A line has as many bytes of flags as of data. */
    private static final int LINE_BYTES_PER_BYTE = 2;
    /** Bytes of plain data, and of data in lines, that a thread moves at a time. */
    private static final int BYTES_OF_A_THREAD = 16;

    private static final int LINE_DATA_OF_A_THREAD = 8;

    /** True if data goes in lines. */
    final boolean inLines;

    final int loops;
    /** By loop: its rank, its number of slices, and the bytes of a slice and of the last one. */
    final int[] rank;

    final int[] slices;
    final double[] sliceBytes;
    final double[] lastBytes;
    /** Loops of each block, in order; and the rank of each block. */
    final List<int[]> blocks = new ArrayList<>();

    final int[] blockOf;
    /** By loop: what it waits for, and what waits for it. */
    final List<List<Wait>> waits = new ArrayList<>();

    final List<List<Integer>> followers = new ArrayList<>();

    /** First flow of each loop, and the end of the last. */
    final int[] flowStart;

    final int[] loopOfFlow;
    /** By loop: its lane. */
    final int[] lane;
    /** By flow: the rank that it goes to, or -1 if it stays on its device; and the step there, or of its own loop. */
    final int[] target;

    final int[] step;
    /** By flow: bytes that it moves for each byte of a slice. */
    final double[] weight;

    final int[] pathStart;
    final int[] path;
    final double[] capacity;
    final double[] queueing;

    /**
     * Something that a loop waits for.
     *
     * @param loop the other loop
     * @param lag the slices that the other loop may lag behind; {@link #READINESS} if it must only have begun
     * @param ticks time from then on until this loop sees it
     */
    record Wait(int loop, int lag, long ticks) {
        static final int READINESS = Integer.MAX_VALUE;
    }

    /**
     * Flattens a program.
     *
     * @param sliceLimit greatest number of slices of a lane; lanes are shortened in proportion
     */
    ProgramWorkload(ProgramLayout layout, int sliceLimit, Wiring wiring, Profile profile) {
        List<Lane> lanes = layout.program().lanes();
        int[] firstLoop = new int[lanes.size() + 1];
        int most = 0;
        for (int l = 0; l < lanes.size(); l++) {
            firstLoop[l + 1] = firstLoop[l] + lanes.get(l).moves().size();
            most = Math.max(most, layout.slices(lanes.get(l)));
        }
        inLines = layout.lowLatency();
        loops = firstLoop[lanes.size()];
        rank = new int[loops];
        lane = new int[loops];
        slices = new int[loops];
        sliceBytes = new double[loops];
        lastBytes = new double[loops];
        flowStart = new int[loops + 1];
        blockOf = new int[loops];
        for (int loop = 0; loop < loops; loop++) {
            waits.add(new ArrayList<>());
            followers.add(new ArrayList<>());
        }
        // As behind another call of its kind.
        boolean startsAtOnce = layout.takesLinesOnce() && layout.program().synchronizes();
        Flows flows = new Flows(layout, wiring, profile);
        for (int l = 0; l < lanes.size(); l++) {
            Lane each = lanes.get(l);
            double whole = Math.min(layout.sliceBytes(each), each.bytes());
            int all = layout.slices(each);
            boolean isCut = most > sliceLimit;
            int kept = isCut ? (int) Math.max(1, Math.round((double) all * sliceLimit / most)) : all;
            for (int m = 0; m < each.moves().size(); m++) {
                int loop = firstLoop[l] + m;
                lane[loop] = l;
                rank[loop] = each.moves().get(m).rank();
                slices[loop] = kept;
                sliceBytes[loop] = whole;
                lastBytes[loop] = isCut ? whole : each.bytes() - (all - 1) * whole;
                flows.add(each, each.moves().get(m), whole);
                flowStart[loop + 1] = flows.paths.size();
            }
            for (Channel channel : each.channels()) {
                connect(layout, channel, firstLoop[l], profile, startsAtOnce);
            }
        }
        for (List<List<Grid.Loop>> ofRank : layout.grid().blocks()) {
            for (List<Grid.Loop> block : ofRank) {
                int[] each = block.stream()
                        .mapToInt(loop -> firstLoop[loop.lane()] + loop.move())
                        .toArray();
                for (int loop : each) {
                    blockOf[loop] = blocks.size();
                }
                blocks.add(each);
            }
        }
        int resources = wiring.capacity.length;
        int count = flows.paths.size();
        capacity = new double[resources + count];
        queueing = new double[resources + count];
        System.arraycopy(wiring.queueing, 0, queueing, 0, resources);
        double stores = profile.get(Constant.PROGRAM_STORE_FRACTION);
        for (int resource = 0; resource < resources; resource++) {
            boolean isArc = resource < wiring.network.arcs();
            capacity[resource] = wiring.capacity[resource] * (isArc ? stores : 1);
        }
        weight = new double[count];
        pathStart = new int[count + 1];
        List<Integer> all = new ArrayList<>();
        for (int flow = 0; flow < count; flow++) {
            all.add(resources + flow);
            all.addAll(flows.paths.get(flow));
            pathStart[flow + 1] = all.size();
            capacity[resources + flow] = flows.limits.get(flow);
            weight[flow] = flows.weights.get(flow);
        }
        target = flows.targets.stream().mapToInt(Integer::intValue).toArray();
        step = flows.steps.stream().mapToInt(Integer::intValue).toArray();
        path = all.stream().mapToInt(Integer::intValue).toArray();
        loopOfFlow = new int[count];
        for (int loop = 0; loop < loops; loop++) {
            for (int flow = flowStart[loop]; flow < flowStart[loop + 1]; flow++) {
                loopOfFlow[flow] = loop;
            }
        }
    }

    /** Returns what sets this program apart from others on the same wiring by the same profile, as a key of a map. */
    LongBuffer key() {
        LongStream.Builder key = LongStream.builder().add(inLines ? 1 : 0).add(loops);
        for (int loop = 0; loop < loops; loop++) {
            key.add(rank[loop]).add(slices[loop]).add(Double.doubleToLongBits(sliceBytes[loop]));
            key.add(Double.doubleToLongBits(lastBytes[loop])).add(flowStart[loop + 1]);
            waits.get(loop).forEach(wait -> key.add(wait.loop).add(wait.lag).add(wait.ticks));
        }
        for (int flow = 0; flow < weight.length; flow++) {
            key.add(target[flow]).add(Double.doubleToLongBits(weight[flow]));
            key.add(Double.doubleToLongBits(capacity[capacity.length - weight.length + flow]));
        }
        for (int[] block : blocks) {
            key.add(block.length);
            Arrays.stream(block).forEach(key::add);
        }
        return LongBuffer.wrap(key.build().toArray());
    }

    private void connect(ProgramLayout layout, Channel channel, int firstLoop, Profile profile, boolean startsAtOnce) {
        int from = firstLoop + channel.from();
        int to = firstLoop + channel.to();
        long flag = Clock.ofUs(profile.get(Constant.PROGRAM_FLAG_US));
        boolean ordered = channel.kind() == Channel.Kind.ORDER;
        boolean inLines = layout.lowLatency() && !ordered;
        wait(to, new Wait(from, 0, inLines ? Clock.ofUs(profile.get(Constant.PROGRAM_LINE_US)) : flag));
        if (!ordered) {
            if (!layout.lowLatency()) {
                wait(from, new Wait(to, layout.sizes().slots(), flag));
            } else if (!startsAtOnce) {
                wait(from, new Wait(to, Wait.READINESS, flag));
            }
        }
    }

    private void wait(int loop, Wait wait) {
        waits.get(loop).add(wait);
        followers.get(wait.loop()).add(loop);
    }

    /** Makes the flows of loops. */
    private static final class Flows {
        private final ProgramLayout layout;
        private final Wiring wiring;
        private final double blockBytesPerTick;
        private final List<List<Integer>> paths = new ArrayList<>();
        private final List<Double> weights = new ArrayList<>();
        private final List<Double> limits = new ArrayList<>();
        private final List<Integer> targets = new ArrayList<>();
        private final List<Integer> steps = new ArrayList<>();

        Flows(ProgramLayout layout, Wiring wiring, Profile profile) {
            this.layout = layout;
            this.wiring = wiring;
            blockBytesPerTick = profile.get(Constant.PROGRAM_BLOCK_GBS) * Clock.BYTES_PER_TICK;
        }

        void add(Lane lane, Move move, double sliceBytes) {
            if (move.inputs().isEmpty()) {
                return;
            }
            int perByte = layout.lowLatency() ? LINE_BYTES_PER_BYTE : 1;
            double own = 0;
            double all = 0;
            for (Operand input : move.inputs()) {
                own += input instanceof Operand.Via ? perByte : 1;
            }
            all += own;
            for (Operand output : move.outputs()) {
                own += output instanceof Operand.Via ? 0 : 1;
                all += output instanceof Operand.Via ? perByte : 1;
            }
            // Bytes of a slice that the block moves in a tick, if nothing else limits it.
            double rate = blockBytesPerTick * threads(sliceBytes) / THREADS_OF_A_BLOCK / all;
            add(List.of(wiring.network.arcs() + move.rank()), own, rate, -1, move.step());
            for (Operand output : move.outputs()) {
                if (output instanceof Operand.Via(int channel)) {
                    Move receiver =
                            lane.moves().get(lane.channels().get(channel).to());
                    int pair = move.rank() * wiring.ranks + receiver.rank();
                    for (int flow = wiring.flowStart[pair]; flow < wiring.flowStart[pair + 1]; flow++) {
                        List<Integer> arcs = new ArrayList<>();
                        for (int entry = wiring.pathStart[flow]; entry < wiring.pathStart[flow + 1]; entry++) {
                            arcs.add(wiring.path[entry]);
                        }
                        add(arcs, perByte * wiring.share[flow], rate, receiver.rank(), receiver.step());
                    }
                }
            }
        }

        private void add(List<Integer> resources, double bytesPerByte, double rate, int target, int step) {
            paths.add(resources);
            weights.add(bytesPerByte);
            limits.add(bytesPerByte * rate);
            targets.add(target);
            steps.add(step);
        }

        private double threads(double sliceBytes) {
            int bytes = layout.lowLatency() ? LINE_DATA_OF_A_THREAD : BYTES_OF_A_THREAD;
            return Math.min(layout.workers(), Math.ceil(sliceBytes / bytes));
        }
    }
}
