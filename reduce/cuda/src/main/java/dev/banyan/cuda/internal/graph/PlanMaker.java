package dev.banyan.cuda.internal.graph;

import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.driver.HostBlock;
import dev.banyan.cuda.internal.memory.Blocks;
import dev.banyan.cuda.internal.peer.PeerAccess;
import dev.banyan.cuda.type.CudaException;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Makes plans of schedules, in pieces so short that the receive buffers stay within their limit. All plans share these
 * buffers, and those of the host's memory for devices that cannot reach each other. Not safe for use from several
 * threads at once.
 */
public final class PlanMaker {
    private final List<CudaDevice> ranks;
    private final PeerAccess peers;
    private final Moves moves;
    private final long bufferLimit;
    private final Map<CudaDevice, Blocks> blocks = new HashMap<>();
    private final List<HostBlock> hostBlocks = new ArrayList<>();
    /** Marks of plans that are closed, by their length. To free pinned memory the driver would wait for what runs. */
    private final Map<Long, Deque<HostBlock>> spareMarks = new HashMap<>();

    /** @param bufferLimit greatest number of bytes of receive buffers of each rank on its device */
    public PlanMaker(List<CudaDevice> ranks, PeerAccess peers, Moves moves, long bufferLimit) {
        this.ranks = ranks;
        this.peers = peers;
        this.moves = moves;
        this.bufferLimit = bufferLimit;
    }

    /**
     * Finds out which devices reach each other, as far as a plan depends on it. That may take trials, for which nobody
     * else should have to wait. Safe for use from any thread.
     */
    public void askPeers(Schedule schedule, DataType type, ReduceOp op) {
        var _ = new RouteCompiler(schedule, type, op, peers, moves).routes();
    }

    /** @throws CudaException if the receive buffers would be beyond the limit, or there is no memory for them */
    public GraphPlan plan(Schedule schedule, DataType type, ReduceOp op) {
        Moves fitting = moves;
        while (true) {
            List<Route> routes = new RouteCompiler(schedule, type, op, peers, fitting).routes();
            Layout layout = new Layout(routes, ranks, fitting.ring());
            long most = layout.deviceBytes().entrySet().stream()
                    .filter(device -> device.getValue() > 0)
                    .mapToLong(device -> Math.ceilDiv(
                            2 * Blocks.rounded(device.getValue()), Collections.frequency(ranks, device.getKey())))
                    .max()
                    .orElse(0);
            if (most <= bufferLimit) {
                return plan(schedule, type, routes, layout, fitting.ring());
            }
            if (fitting.pieceBytes() <= Moves.LEAST_PIECE) {
                throw new CudaException(schedule.collective().label() + " by " + schedule.algorithm() + " needs "
                        + most + " bytes of receive buffers for a rank, but BANYAN_BUFFER_LIMIT is "
                        + bufferLimit + "; raise it");
            }
            fitting = fitting.halved();
        }
    }

    private GraphPlan plan(Schedule schedule, DataType type, List<Route> routes, Layout layout, int ring) {
        Map<CudaDevice, Long> places = new HashMap<>();
        layout.deviceBytes()
                .forEach((device, bytes) -> places.put(
                        device, blocks.computeIfAbsent(device, Blocks::new).take(bytes)));
        ranks.getFirst().enter();
        List<Mark> marks = Mark.of(routes, ranks, type.bytes());
        long hostBlock = hostBlock(layout.hostBytes());
        return new GraphPlan(
                schedule.collective().label() + " by " + schedule.algorithm(),
                routes,
                ranks,
                type.bytes(),
                layout,
                places,
                hostBlock,
                ring,
                marks,
                markBlock(marks.size()));
    }

    private HostBlock markBlock(int marks) {
        long bytes = 4L * Math.max(16, Integer.highestOneBit(Math.max(1, marks - 1)) << 1);
        HostBlock spare = spares(bytes).poll();
        return spare == null ? new HostBlock(bytes) : spare;
    }

    private Deque<HostBlock> spares(long bytes) {
        return spareMarks.computeIfAbsent(bytes, _ -> new ArrayDeque<>());
    }

    /** Takes back what a plan has alone; nothing of it runs. */
    void close(GraphPlan plan) {
        spares(plan.markBlock().bytes()).push(plan.markBlock());
    }

    private long hostBlock(long bytes) {
        if (bytes == 0) {
            return 0;
        }
        for (HostBlock block : hostBlocks) {
            if (block.bytes() >= bytes) {
                return block.address();
            }
        }
        HostBlock block = new HostBlock(Blocks.rounded(bytes));
        hostBlocks.add(block);
        return block.address();
    }

    /**
     * Frees the buffers and the marks of closed plans.
     *
     * @return results of the driver
     */
    public List<Integer> free(boolean sound) {
        spareMarks.values().forEach(hostBlocks::addAll);
        List<Integer> results = hostBlocks.stream().map(HostBlock::free).toList();
        hostBlocks.clear();
        blocks.values().forEach(block -> block.free(sound));
        return results;
    }
}
