package dev.banyan.page.study;

import dev.banyan.page.model.Playback;
import dev.banyan.schedule.Chunk;
import dev.banyan.schedule.Location;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.Step;
import dev.banyan.schedule.internal.program.Lane;
import dev.banyan.schedule.internal.program.ProgramLayout;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.schedule.plan.PlannedSchedule;
import dev.banyan.simulate.Job;
import dev.banyan.simulate.ProgramSimulator;
import dev.banyan.simulate.SimulatedCosts;
import dev.banyan.simulate.SimulationListener;
import dev.banyan.simulate.Simulator;
import dev.banyan.trees.network.Network;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.function.ToIntFunction;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Records a simulated call, transfer by transfer. */
final class PlaybackStudy implements SimulationListener {
    /** With more transfers, a call is shown in longer chunks. */
    private static final int MOST_TRANSFERS = 1500;
    /** Times are counted in 0.01 us. */
    private static final double TICKS_PER_US = 100;

    private final List<Transfer> transfers = new ArrayList<>();

    private boolean joined;

    private PlaybackStudy() {}

    @Override
    public void transferred(Transfer transfer) {
        transfers.add(transfer);
    }

    @Override
    public void reduced(Reduction reduction) {
        // Kernels cross no link.
    }

    /**
     * Plays a call as its curve predicts it: as an exchange or another program of kernels, or in chunks as long as the
     * simulator finds best. Where these are more transfers than can be shown, successive slices of a kernel are shown
     * as one, and chunks are longer, in the time of the curve.
     *
     * @param number index of the algorithm on the page
     */
    static Playback of(AlgorithmConfig algorithm, int number, long bytes, Calls calls, DrawnLinks links) {
        long elements = bytes / Calls.ELEMENT_BYTES;
        PlannedSchedule planned = calls.plan(calls.choose(algorithm, elements), elements);
        PlaybackStudy recording = new PlaybackStudy();
        SimulatedCosts costs = calls.costs();
        // The curve extrapolates the time of many slices or chunks.
        double us = calls.predictedUs(planned.choice(), elements);
        Optional<ProgramLayout> program = costs.program(planned.schedule(), planned.links());
        ProgramSimulator kernels = costs.programSimulator(planned.links());
        if (costs.exchanges(planned)) {
            kernels.playExchange(planned.schedule(), recording);
            return recording.playback(
                    number,
                    bytes,
                    us,
                    IntStream.range(0, costs.network().ranks()).toArray(),
                    transfer -> transfer.step() == 0,
                    costs.network(),
                    links);
        }
        if (program.isPresent()) {
            double simulatedUs = kernels.run(program.get(), recording).endUs();
            recording.merge(us / simulatedUs);
            return recording.playback(
                    number,
                    bytes,
                    us,
                    treesOfLanes(program.get().program().lanes()),
                    transfer -> isSum(program.get().program().lanes().get(transfer.chunk()), transfer),
                    costs.network(),
                    links);
        }
        long chunkBytes = longestChunk(planned.schedule());
        while (transfers(planned.schedule()) > MOST_TRANSFERS && chunkBytes < bytes) {
            chunkBytes *= 2;
            planned = calls.plan(planned.choice().withChunkBytes(chunkBytes), elements);
            recording.joined = true;
        }
        Simulator simulator = costs.simulator(planned.links());
        double simulatedUs =
                simulator.run(List.of(Job.of(planned.schedule())), recording).endUs();
        recording.merge(us / simulatedUs);
        Schedule schedule = planned.schedule();
        return recording.playback(
                number,
                bytes,
                us,
                treesOfChunks(schedule),
                transfer -> step(schedule, transfer).reduces(),
                costs.network(),
                links);
    }

    private long longest() {
        return transfers.stream()
                .mapToLong(transfer -> Math.round(transfer.bytes()))
                .max()
                .orElse(0);
    }

    /** The path of a slice's data. */
    private record Way(int chunk, int step, int from, List<Integer> arcs) {}

    /**
     * Shows so many successive slices on the same way as one that few enough remain, or one of each way.
     *
     * @param scale factor of times
     */
    private void merge(double scale) {
        Map<Way, List<Transfer>> byWay = new LinkedHashMap<>();
        transfers.forEach(transfer -> byWay.computeIfAbsent(
                        new Way(transfer.chunk(), transfer.step(), transfer.from(), transfer.arcs()),
                        _ -> new ArrayList<>())
                .add(transfer));
        int perShown = 1;
        while (shown(byWay.values(), perShown) > Math.max(MOST_TRANSFERS, byWay.size())) {
            perShown++;
            joined = true;
        }
        transfers.clear();
        for (List<Transfer> slices : byWay.values()) {
            for (int first = 0; first < slices.size(); first += perShown) {
                List<Transfer> shown = slices.subList(first, Math.min(slices.size(), first + perShown));
                Transfer last = shown.getLast();
                transfers.add(new Transfer(
                        0,
                        last.chunk(),
                        last.step(),
                        last.from(),
                        last.to(),
                        last.arcs(),
                        shown.stream().mapToDouble(Transfer::bytes).sum(),
                        shown.getFirst().startUs() * scale,
                        last.endUs() * scale,
                        last.arrivalUs() * scale));
            }
        }
    }

    private static long shown(Collection<List<Transfer>> ways, int perShown) {
        return ways.stream()
                .mapToLong(slices -> Math.ceilDiv(slices.size(), perShown))
                .sum();
    }

    private static long longestChunk(Schedule schedule) {
        return schedule.chunks().stream().mapToLong(Chunk::bytes).max().orElseThrow();
    }

    private static long transfers(Schedule schedule) {
        return schedule.chunks().stream()
                .flatMap(chunk -> chunk.steps().stream())
                .mapToLong(step -> step.sources().stream()
                        .filter(source -> source.rank() != step.target().rank())
                        .count())
                .sum();
    }

    private Playback playback(
            int number,
            long bytes,
            double us,
            int[] treeOfChunk,
            Predicate<Transfer> isSum,
            Network network,
            DrawnLinks links) {
        transfers.sort(Comparator.comparingDouble(Transfer::startUs)
                .thenComparingInt(Transfer::chunk)
                .thenComparingInt(Transfer::step)
                .thenComparingInt(Transfer::from));
        Map<List<Integer>, Integer> routes = new LinkedHashMap<>();
        List<Integer> start = new ArrayList<>();
        int before = 0;
        for (Transfer transfer : transfers) {
            int now = ticks(transfer.startUs());
            start.add(now - before);
            before = now;
        }
        List<Integer> route = ints(transfer -> {
            List<Integer> crossed = new ArrayList<>(List.of(transfer.from(), transfer.to()));
            transfer.arcs().forEach(arc -> crossed.add(links.ofArc(network, arc)));
            Integer known = routes.putIfAbsent(crossed, routes.size());
            return known == null ? routes.size() - 1 : known;
        });
        return new Playback(
                number,
                bytes,
                longest(),
                joined,
                us,
                List.copyOf(routes.keySet()),
                route,
                start,
                ints(transfer -> ticks(transfer.endUs()) - ticks(transfer.startUs())),
                ints(transfer -> ticks(transfer.arrivalUs()) - ticks(transfer.endUs())),
                ints(transfer -> treeOfChunk[transfer.chunk()]),
                ints(transfer -> isSum.test(transfer) ? 1 : 0));
    }

    private static Step step(Schedule schedule, Transfer transfer) {
        return schedule.chunks().get(transfer.chunk()).steps().get(transfer.step());
    }

    private static int ticks(double us) {
        return (int) Math.rint(us * TICKS_PER_US);
    }

    private List<Integer> ints(ToIntFunction<Transfer> figure) {
        return transfers.stream().mapToInt(figure).boxed().toList();
    }

    /** Returns whether the block that receives a slice of a lane adds it to other data. */
    private static boolean isSum(Lane lane, Transfer transfer) {
        return lane.moves().stream()
                .anyMatch(move -> move.rank() == transfer.to()
                        && move.step() == transfer.step()
                        && move.inputs().size() > 1);
    }

    /** Lanes go along the same tree if their channels join the same ranks in the same order. */
    private static int[] treesOfLanes(List<Lane> lanes) {
        Map<List<Integer>, Integer> trees = new LinkedHashMap<>();
        return lanes.stream()
                .mapToInt(lane -> {
                    List<Integer> ranks = lane.channels().stream()
                            .flatMap(channel -> Stream.of(lane.sender(channel), lane.receiver(channel)))
                            .toList();
                    Integer known = trees.putIfAbsent(ranks, trees.size());
                    return known == null ? trees.size() - 1 : known;
                })
                .toArray();
    }

    /** Chunks go along the same tree if their steps join the same ranks in the same order. */
    private static int[] treesOfChunks(Schedule schedule) {
        Map<List<List<Integer>>, Integer> trees = new LinkedHashMap<>();
        return schedule.chunks().stream()
                .mapToInt(chunk -> {
                    List<List<Integer>> hops =
                            chunk.steps().stream().map(PlaybackStudy::ranks).toList();
                    Integer known = trees.putIfAbsent(hops, trees.size());
                    return known == null ? trees.size() - 1 : known;
                })
                .toArray();
    }

    private static List<Integer> ranks(Step step) {
        List<Integer> ranks =
                new ArrayList<>(step.sources().stream().map(Location::rank).toList());
        ranks.add(step.target().rank());
        return ranks;
    }
}
