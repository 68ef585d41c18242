package dev.banyan.cuda.internal.graph;

import dev.banyan.cuda.internal.peer.PeerAccess;
import dev.banyan.cuda.internal.ptx.Element;
import dev.banyan.cuda.internal.ptx.Kernel;
import dev.banyan.schedule.Chunk;
import dev.banyan.schedule.Location;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.Space;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Makes routes of a schedule's chunks: chunks of one shape are one route. What the schedule keeps in scratch
 * memory is kept in slots of one piece.
 *
 * <p>A source on another device is loaded by the kernel itself where pieces are short, and else copied into a
 * slot first; where there is no peer access it is copied through the host.
 *
 * <p>The mean of integers must be exact where their sum overflows the type: what is read is widened first, all
 * steps work on wide sums in slots, and what is in the result is divided in the end.
 */
final class RouteCompiler {
    private final Schedule schedule;
    private final DataType type;
    private final ReduceOp op;
    private final PeerAccess peers;
    private final Moves moves;
    private final boolean mean;
    private final boolean wide;

    RouteCompiler(Schedule schedule, DataType type, ReduceOp op, PeerAccess peers, Moves moves) {
        this.schedule = schedule;
        this.type = type;
        this.op = op == ReduceOp.AVG ? ReduceOp.SUM : op;
        this.peers = peers;
        this.moves = moves;
        mean = op == ReduceOp.AVG && schedule.collective().reduces() && schedule.ranks() > 1;
        wide = mean && !type.isFloating();
    }

    /** The routes, in the order in which their first chunks come. */
    List<Route> routes() {
        Map<ChunkShape, List<ChunkShape.Numbered>> chunks = new LinkedHashMap<>();
        Map<ChunkShape, List<Long>> lengths = new LinkedHashMap<>();
        for (Chunk chunk : schedule.chunks()) {
            ChunkShape.Numbered numbered = ChunkShape.of(schedule, chunk);
            chunks.computeIfAbsent(numbered.shape(), shape -> new ArrayList<>()).add(numbered);
            lengths.computeIfAbsent(numbered.shape(), shape -> new ArrayList<>())
                    .add(chunk.bytes());
        }
        List<Route> routes = new ArrayList<>();
        chunks.forEach((shape, all) -> routes.add(route(all, lengths.getOrDefault(shape, List.of()))));
        return routes;
    }

    private Route route(List<ChunkShape.Numbered> chunks, List<Long> lengths) {
        List<Route.Piece> pieces = new ArrayList<>();
        long longest = 0;
        for (int c = 0; c < chunks.size(); c++) {
            long pieceBytes = moves.pieceOf(lengths.get(c));
            for (long start = 0; start < lengths.get(c); start += pieceBytes) {
                long shift = start;
                long bytes = Math.min(pieceBytes, lengths.get(c) - start);
                longest = Math.max(longest, bytes);
                pieces.add(new Route.Piece(
                        bytes / type.bytes(),
                        chunks.get(c).locations().stream()
                                .map(at -> at.offset() + shift)
                                .toList()));
            }
        }
        return new Shape(chunks.getFirst(), longest).route(pieces);
    }

    /** Compiles one shape. */
    private final class Shape {
        private final ChunkShape.Numbered chunk;
        private final long pieceBytes;
        private final List<NodeTemplate> templates = new ArrayList<>();
        private final List<Route.Slot> slots = new ArrayList<>();
        private final List<Route.Slot> hostSlots = new ArrayList<>();
        private final List<String> steps = new ArrayList<>();
        /** The operand that keeps each location. */
        private final Operand[] kept;
        /** The template that wrote what is there, or -1. */
        private final int[] writer;
        /** The last template of each step. */
        private final List<Integer> ends = new ArrayList<>();

        Shape(ChunkShape.Numbered chunk, long pieceBytes) {
            this.chunk = chunk;
            this.pieceBytes = pieceBytes;
            int count = chunk.locations().size();
            kept = new Operand[count];
            writer = new int[count];
            Arrays.fill(writer, -1);
            for (int number = 0; number < count; number++) {
                Location location = chunk.locations().get(number);
                kept[number] = wide || location.space() == Space.SCRATCH
                        ? slot(location.rank())
                        : new Operand(Operand.Kind.BUFFER, number);
            }
        }

        Route route(List<Route.Piece> pieces) {
            Set<Integer> completing = mean && !wide ? Results.completingSteps(schedule, chunk) : Set.<Integer>of();
            List<ChunkShape.NumberedStep> shape = chunk.shape().steps();
            for (int s = 0; s < shape.size(); s++) {
                steps.add(describe(shape.get(s)));
                add(shape.get(s), s, completing.contains(s) ? schedule.ranks() : 1);
            }
            if (wide) {
                takeMeans();
            }
            return new Route(templates, slots, hostSlots, pieces, chunk.locations(), steps);
        }

        private void add(ChunkShape.NumberedStep step, int s, int divisor) {
            int rank = rank(step.target());
            List<Integer> before = step.after().stream().map(ends::get).toList();
            if (step.sources().size() == 1) {
                int source = step.sources().getFirst();
                widen(source, s);
                List<Integer> after = new ArrayList<>(before);
                add(after, writer[source]);
                copy(kept[source], rank(source), kept[step.target()], rank, after, s, true);
            } else {
                List<Operand> sources = new ArrayList<>();
                List<Integer> after = new ArrayList<>(before);
                for (int source : step.sources()) {
                    widen(source, s);
                    sources.add(within(source, rank, s, after));
                }
                templates.add(new NodeTemplate.Launch(
                        rank,
                        new Kernel.Reduce(op, wide ? Element.wide(type) : Element.of(type), sources.size()),
                        sources,
                        kept[step.target()],
                        divisor,
                        List.copyOf(after),
                        s,
                        true));
            }
            writer[step.target()] = templates.size() - 1;
            ends.add(templates.size() - 1);
        }

        /**
         * Returns the operand from which a kernel on a rank's device can load a source; {@code after} gets the nodes
         * that must be done before.
         */
        private Operand within(int source, int rank, int s, List<Integer> after) {
            int from = rank(source);
            if (peers.sameDevice(rank, from) || (pieceBytes <= moves.directBytes() && peers.reaches(rank, from))) {
                add(after, writer[source]);
                return kept[source];
            }
            Operand slot = slot(rank);
            List<Integer> before = new ArrayList<>();
            add(before, writer[source]);
            copy(kept[source], from, slot, rank, before, s, false);
            add(after, templates.size() - 1);
            return slot;
        }

        private void copy(Operand source, int from, Operand target, int to, List<Integer> after, int s, boolean last) {
            if (peers.reaches(from, to)) {
                templates.add(new NodeTemplate.Copy(from, source, target, List.copyOf(after), s, last));
            } else {
                Operand host = new Operand(Operand.Kind.HOST, hostSlots.size());
                hostSlots.add(new Route.Slot(from, elementBytes()));
                templates.add(new NodeTemplate.Copy(from, source, host, List.copyOf(after), s, false));
                templates.add(new NodeTemplate.Copy(to, host, target, List.of(templates.size() - 1), s, last));
            }
        }

        /** Before the first reading of what the caller gave. */
        private void widen(int number, int s) {
            if (wide && writer[number] < 0) {
                templates.add(new NodeTemplate.Launch(
                        rank(number),
                        new Kernel.Widen(type),
                        List.of(new Operand(Operand.Kind.BUFFER, number)),
                        kept[number],
                        0,
                        List.of(),
                        s,
                        false));
                writer[number] = templates.size() - 1;
            }
        }

        private void takeMeans() {
            for (int number = 0; number < kept.length; number++) {
                if (schedule.hasResultAt(chunk.locations().get(number))) {
                    templates.add(new NodeTemplate.Launch(
                            rank(number),
                            new Kernel.Mean(type),
                            List.of(kept[number]),
                            new Operand(Operand.Kind.BUFFER, number),
                            schedule.ranks(),
                            writer[number] < 0 ? List.of() : List.of(writer[number]),
                            steps.size(),
                            true));
                    steps.add("the means of rank " + rank(number));
                }
            }
        }

        private int rank(int number) {
            return chunk.locations().get(number).rank();
        }

        private Operand slot(int rank) {
            slots.add(new Route.Slot(rank, elementBytes()));
            return new Operand(Operand.Kind.SLOT, slots.size() - 1);
        }

        private int elementBytes() {
            return wide ? Element.wide(type).bytes() : type.bytes();
        }

        private String describe(ChunkShape.NumberedStep step) {
            List<Integer> from =
                    step.sources().stream().map(this::rank).distinct().toList();
            return (step.sources().size() == 1 ? "the copy" : "the reduction") + " from rank"
                    + (from.size() > 1 ? "s " : " ")
                    + String.join(", ", from.stream().map(String::valueOf).toList()) + " to rank "
                    + rank(step.target());
        }

        private static void add(List<Integer> after, int template) {
            if (template >= 0 && !after.contains(template)) {
                after.add(template);
            }
        }
    }
}
