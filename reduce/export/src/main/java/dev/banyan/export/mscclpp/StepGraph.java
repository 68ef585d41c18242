package dev.banyan.export.mscclpp;

import dev.banyan.export.mscclpp.MscclppPlan.Gpu;
import dev.banyan.schedule.Chunk;
import dev.banyan.schedule.Location;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.Step;
import dev.banyan.schedule.type.Collective;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * Makes a schedule of moves of single elements. Moves that touch the same memory, directly or over others, are a chunk;
 * a move is after the last of each thread block's moves of its chunk that happen before it.
 */
final class StepGraph {
    private StepGraph() {}

    /**
     * A move of one element.
     *
     * @param block the thread block that makes it
     * @param clock by thread block: its operations that happen before the move or are the move's own
     */
    record Move(List<Location> sources, Location target, int block, int[] clock) {}

    private static Schedule of(MscclppPlan plan, int root, List<Chunk> chunks) {
        Gpu gpu = plan.gpus().getFirst();
        int count = plan.collective() == Collective.ALL_GATHER ? gpu.inputChunks() : gpu.outputChunks();
        return new Schedule(
                plan.name(),
                plan.collective(),
                plan.gpus().size(),
                root,
                2L * count,
                1,
                plan.inPlace(),
                2L * gpu.scratchChunks(),
                chunks);
    }

    static Schedule schedule(MscclppPlan plan, List<Move> moves, int root) {
        Schedule layout = of(plan, root, List.of());
        int[] parent = IntStream.range(0, moves.size()).toArray();
        Map<Location, Integer> first = new HashMap<>();
        for (int move = 0; move < parent.length; move++) {
            List<Location> touched = new ArrayList<>(moves.get(move).sources());
            touched.add(moves.get(move).target());
            for (Location location : touched) {
                Integer other = first.putIfAbsent(layout.inBuffers(location), move);
                if (other != null) {
                    parent[find(parent, move)] = find(parent, other);
                }
            }
        }
        Map<Integer, List<Integer>> components = new LinkedHashMap<>();
        for (int move = 0; move < parent.length; move++) {
            components
                    .computeIfAbsent(find(parent, move), _ -> new ArrayList<>())
                    .add(move);
        }
        List<Chunk> chunks = new ArrayList<>();
        for (List<Integer> component : components.values()) {
            List<Step> steps = new ArrayList<>();
            for (int i = 0; i < component.size(); i++) {
                Move move = moves.get(component.get(i));
                Map<Integer, Integer> last = new LinkedHashMap<>();
                for (int j = 0; j < i; j++) {
                    Move before = moves.get(component.get(j));
                    if (before.clock()[before.block()] <= move.clock()[before.block()]) {
                        last.put(before.block(), j);
                    }
                }
                steps.add(new Step(move.sources(), move.target(), List.copyOf(last.values())));
            }
            chunks.add(new Chunk(1, steps));
        }
        return of(plan, root, chunks);
    }

    private static int find(int[] parent, int move) {
        int root = move;
        while (parent[root] != root) {
            root = parent[root];
        }
        parent[move] = root;
        return root;
    }
}
