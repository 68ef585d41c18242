package dev.banyan.study.cluster;

import dev.banyan.schedule.internal.algorithm.CollectiveAlgorithm;
import dev.banyan.schedule.internal.algorithm.CollectiveRequest;
import dev.banyan.schedule.internal.algorithm.PackedAlgorithm;
import dev.banyan.schedule.internal.algorithm.StarAlgorithm;
import dev.banyan.schedule.type.Collective;
import dev.banyan.simulate.Job;
import dev.banyan.simulate.Profile;
import dev.banyan.simulate.SimulatedCosts;
import dev.banyan.simulate.Simulator;
import dev.banyan.study.training.Gradient;
import dev.banyan.topology.Machine;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.LogicalLink;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * The exchange among a machine's devices: slices to their leaders and back, or everything where there is one machine
 * only. Each is simulated over packed trees and as stars, and the faster one counts. Not safe for use from several
 * threads at once: results are kept.
 */
final class InsideMachine {
    /** Length of chunks: a copy that long keeps an NVLink busy. */
    private static final long CHUNK_BYTES = 1 << 20;

    private final SimulatedCosts costs;
    private final int devices;
    private final int leaders;
    private final PackedAlgorithm packed;
    private final Map<Call, Double> known = new HashMap<>();

    private record Call(Collective collective, long elements) {}

    /** @param leaders devices that have a NIC each, evenly among all */
    InsideMachine(Machine machine, Profile profile, int leaders) {
        costs = new SimulatedCosts(machine, profile);
        this.leaders = leaders;
        devices = machine.size();
        packed = new PackedAlgorithm(Network.of(machine));
    }

    /** All devices' sum on all of them, in us. */
    double allReduceUs(long elements) {
        return known.computeIfAbsent(
                new Call(Collective.ALL_REDUCE, elements),
                call -> Math.min(packedUs(call, -1, elements), starUs(call, -1, elements)));
    }

    /** A slice of the sum on each leader, in us. */
    double reduceUs(long elements) {
        return slicesUs(new Call(Collective.REDUCE, elements));
    }

    /** Each leader's slice on all devices, in us. */
    double broadcastUs(long elements) {
        return slicesUs(new Call(Collective.BROADCAST, elements));
    }

    private double slicesUs(Call wanted) {
        return known.computeIfAbsent(wanted, call -> {
            long slice = Math.ceilDiv(call.elements(), (long) leaders);
            if (leaders > 1) {
                return allAtOnce(call, slice);
            }
            return Math.min(packedUs(call, 0, slice), starUs(call, 0, slice));
        });
    }

    private double packedUs(Call call, int root, long elements) {
        List<LogicalLink> links = packed.packing(call.collective(), root).linksOn(costs.network());
        return costs.simulator(links)
                .run(job(packed, call.collective(), root, elements).schedule())
                .endUs();
    }

    private double starUs(Call call, int root, long elements) {
        CollectiveAlgorithm star = new StarAlgorithm(devices, Math.max(root, 0));
        return costs.simulator(List.of())
                .run(job(star, call.collective(), root, elements).schedule())
                .endUs();
    }

    /** Several leaders: the slices share the links, each as a star. */
    private double allAtOnce(Call call, long slice) {
        Simulator simulator = costs.simulator(List.of());
        return simulator
                .run(IntStream.range(0, leaders)
                        .map(leader -> leader * devices / leaders)
                        .mapToObj(root -> job(new StarAlgorithm(devices, root), call.collective(), root, slice))
                        .toList())
                .endUs();
    }

    private static Job job(CollectiveAlgorithm algorithm, Collective collective, int root, long elements) {
        return Job.of(algorithm.schedule(
                new CollectiveRequest(collective, root, elements, Gradient.ELEMENT_BYTES, false, CHUNK_BYTES)));
    }
}
