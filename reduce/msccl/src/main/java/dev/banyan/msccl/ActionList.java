package dev.banyan.msccl;

import dev.banyan.schedule.Chunk;
import dev.banyan.schedule.Location;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.Step;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Turns the steps of a schedule into actions: k-way reductions become chains of two operands, with the same
 * order of summation, and chunks that are longer than a step may be become several. Used once.
 */
final class ActionList {
    private final Schedule schedule;
    /** Bytes of an MSCCL chunk. */
    private final long unit;

    private final List<Action> actions = new ArrayList<>();
    private final Map<List<Integer>, Integer> routes = new HashMap<>();
    private int route;
    private int count;
    /** First MSCCL chunk of the piece, from the start of its chunk. */
    private long shift;

    private ActionList(Schedule schedule, long unit) {
        this.schedule = schedule;
        this.unit = unit;
    }

    /** In an order in which nothing comes before what it depends on. */
    static List<Action> of(Schedule schedule, long unit) {
        return new ActionList(schedule, unit).build();
    }

    private List<Action> build() {
        for (Chunk chunk : schedule.chunks()) {
            route = routes.computeIfAbsent(way(chunk), _ -> routes.size());
            long length = chunk.bytes() / unit;
            int pieces = Math.toIntExact(Math.ceilDiv(length, (long) Limits.COUNT));
            for (int piece = 0; piece < pieces; piece++) {
                shift = length * piece / pieces;
                count = Math.toIntExact(length * (piece + 1) / pieces - shift);
                chunk.steps().forEach(this::add);
            }
        }
        return actions;
    }

    /** From where to where the chunk's data go. */
    private static List<Integer> way(Chunk chunk) {
        return chunk.steps().stream()
                .flatMap(step -> step.sources().stream()
                        .flatMap(source -> IntStream.of(
                                        source.rank(), step.target().rank())
                                .boxed()))
                .toList();
    }

    private void add(Step step) {
        List<Location> sources = step.sources().stream().map(this::inChunks).toList();
        Location target = inChunks(step.target());
        Location held = sources.getFirst();
        boolean startsByReceiving =
                step.reduces() && held.rank() == target.rank() && sources.get(1).rank() != target.rank();
        if (!startsByReceiving && !held.equals(target)) {
            emit(held, null, target);
            held = target;
        }
        for (Location source : sources.subList(1, sources.size())) {
            emit(source, held, target);
            held = target;
        }
    }

    private void emit(Location source, @Nullable Location operand, Location target) {
        actions.add(new Action(route, count, source, operand, target));
    }

    private Location inChunks(Location location) {
        return new Location(location.rank(), location.space(), location.offset() / unit + shift);
    }
}
