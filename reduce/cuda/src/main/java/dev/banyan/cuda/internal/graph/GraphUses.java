package dev.banyan.cuda.internal.graph;

import dev.banyan.cuda.internal.memory.BufferAccess;
import dev.banyan.schedule.Location;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Stream;

/** The devices that touch each buffer in the graphs of a plan. */
final class GraphUses {
    private GraphUses() {}

    /** Returns the end of what is touched, in bytes from the begin of the buffer, of each use. */
    static Map<BufferAccess.Use, Long> of(GraphPlan plan) {
        Map<BufferAccess.Use, Long> uses = new LinkedHashMap<>();
        for (Route route : plan.routes()) {
            for (NodeTemplate template : route.templates()) {
                Stream.concat(template.sources().stream(), Stream.of(template.target()))
                        .filter(operand -> operand.kind() == Operand.Kind.BUFFER)
                        .forEach(operand -> add(plan, route, operand.index(), template.rank(), uses));
            }
        }
        return uses;
    }

    private static void add(GraphPlan plan, Route route, int buffer, int rank, Map<BufferAccess.Use, Long> uses) {
        Location location = route.buffers().get(buffer);
        long end = 0;
        for (Route.Piece piece : route.pieces()) {
            end = Math.max(end, piece.offsets().get(buffer) + piece.elements() * plan.elementBytes());
        }
        uses.merge(
                new BufferAccess.Use(
                        location.space(), location.rank(), plan.devices().get(rank)),
                end,
                Math::max);
    }
}
