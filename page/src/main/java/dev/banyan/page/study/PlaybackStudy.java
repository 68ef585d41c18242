package dev.banyan.page.study;

import dev.banyan.page.model.Playback;
import dev.banyan.schedule.Chunk;
import dev.banyan.schedule.Location;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.Step;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.PlannedSchedule;
import dev.banyan.simulate.Job;
import dev.banyan.simulate.SimulationListener;
import dev.banyan.simulate.Simulator;
import dev.banyan.trees.network.Network;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToIntFunction;

/** Records a simulated call, transfer by transfer. */
final class PlaybackStudy implements SimulationListener {
    /** With more transfers, a call is shown in longer chunks. */
    private static final int MOST_TRANSFERS = 1500;
    /** Times are counted in 0.01 us. */
    private static final double TICKS_PER_US = 100;

    private final List<Transfer> transfers = new ArrayList<>();

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
     * Plays a call in chunks as long as the simulator finds best, or in longer ones if these are too many to show.
     *
     * @param number index of the algorithm on the page
     */
    static Playback of(AlgorithmChoice algorithm, int number, long bytes, Calls calls, DrawnLinks links) {
        long elements = bytes / Calls.ELEMENT_BYTES;
        PlannedSchedule planned = calls.plan(calls.choose(algorithm, elements), elements);
        long chunkBytes = longestChunk(planned.schedule());
        while (transfers(planned.schedule()) > MOST_TRANSFERS && chunkBytes < bytes) {
            chunkBytes *= 2;
            planned = calls.plan(planned.choice().withChunkBytes(chunkBytes), elements);
        }
        PlaybackStudy recording = new PlaybackStudy();
        Simulator simulator = calls.costs().simulator(planned.links());
        double us =
                simulator.run(List.of(Job.of(planned.schedule())), recording).endUs();
        return recording.playback(
                number, bytes, us, planned.schedule(), calls.costs().network(), links);
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

    private Playback playback(int number, long bytes, double us, Schedule schedule, Network network, DrawnLinks links) {
        transfers.sort(Comparator.comparingDouble(Transfer::startUs)
                .thenComparingInt(Transfer::chunk)
                .thenComparingInt(Transfer::step)
                .thenComparingInt(Transfer::from));
        int[] treeOfChunk = treesOfChunks(schedule);
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
                longestChunk(schedule),
                us,
                List.copyOf(routes.keySet()),
                route,
                start,
                ints(transfer -> ticks(transfer.endUs()) - ticks(transfer.startUs())),
                ints(transfer -> ticks(transfer.arrivalUs()) - ticks(transfer.endUs())),
                ints(transfer -> treeOfChunk[transfer.chunk()]),
                ints(transfer -> step(schedule, transfer).reduces() ? 1 : 0));
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
