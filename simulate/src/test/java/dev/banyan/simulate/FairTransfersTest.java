package dev.banyan.simulate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.banyan.schedule.internal.algorithm.CollectiveAlgorithm;
import dev.banyan.schedule.internal.algorithm.ForestAlgorithm;
import dev.banyan.schedule.internal.algorithm.PackedAlgorithm;
import dev.banyan.schedule.internal.algorithm.StarAlgorithm;
import dev.banyan.schedule.type.Collective;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.Machine;
import dev.banyan.trees.balanced.KernighanLin;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.TreePacking;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Whole simulations by what they tell: from when each transfer began and ended follow the rates of all at any time, by
 * filling anew without any of the engine's shortcuts, and those rates must carry just the bytes of each.
 */
class FairTransfersTest {
    private static final double TICK_US = 1e-6;

    private record Links(Network network, Profile profile) {
        /** In bytes per us. */
        private double total(int arc, int transfers) {
            double queueing = profile.queueing(network.kind(arc));
            return network.gbs(arc) * profile.efficiency(network.kind(arc)) * 1e3 / (1 + queueing * (transfers - 1));
        }

        private Map<SimulationListener.Transfer, Double> rates(Set<SimulationListener.Transfer> active) {
            Map<Integer, List<SimulationListener.Transfer>> users = new HashMap<>();
            active.forEach(transfer -> transfer.arcs()
                    .forEach(arc ->
                            users.computeIfAbsent(arc, a -> new ArrayList<>()).add(transfer)));
            Map<Integer, Double> left = new HashMap<>();
            users.forEach((arc, all) -> left.put(arc, total(arc, all.size())));
            Map<SimulationListener.Transfer, Double> rates = new HashMap<>();
            while (rates.size() < active.size()) {
                int first = -1;
                double level = Double.POSITIVE_INFINITY;
                for (Map.Entry<Integer, List<SimulationListener.Transfer>> each : users.entrySet()) {
                    double share = left.getOrDefault(each.getKey(), 0.0)
                            / each.getValue().size();
                    if (!each.getValue().isEmpty() && share < level) {
                        level = share;
                        first = each.getKey();
                    }
                }
                for (SimulationListener.Transfer transfer : List.copyOf(users.getOrDefault(first, List.of()))) {
                    rates.put(transfer, level);
                    for (int arc : transfer.arcs()) {
                        left.merge(arc, -level, Double::sum);
                        users.getOrDefault(arc, List.of()).remove(transfer);
                    }
                }
            }
            return rates;
        }

        private void check(List<SimulationListener.Transfer> transfers) {
            TreeSet<Double> times = new TreeSet<>();
            Map<Double, List<SimulationListener.Transfer>> starts = new HashMap<>();
            for (SimulationListener.Transfer transfer : transfers) {
                starts.computeIfAbsent(transfer.startUs(), time -> new ArrayList<>())
                        .add(transfer);
                times.add(transfer.startUs());
                times.add(transfer.endUs());
            }
            Map<SimulationListener.Transfer, Double> sent = new HashMap<>();
            Set<SimulationListener.Transfer> active = new HashSet<>();
            double before = 0;
            for (double time : times) {
                double us = time - before;
                rates(active).forEach((transfer, rate) -> sent.merge(transfer, rate * us, Double::sum));
                active.removeIf(transfer -> transfer.endUs() == time);
                active.addAll(starts.getOrDefault(time, List.of()));
                before = time;
            }
            for (SimulationListener.Transfer transfer : transfers) {
                double fastest = transfer.arcs().stream()
                        .mapToDouble(arc -> total(arc, 1))
                        .min()
                        .orElseThrow();
                // Times are whole ticks, an end the first one not before.
                assertThat(sent.getOrDefault(transfer, 0.0))
                        .as("%s", transfer)
                        .isEqualTo(transfer.bytes(), within(2 * TICK_US * fastest + 1e-9 * transfer.bytes()));
            }
        }
    }

    private static List<SimulationListener.Transfer> transfers(Simulator simulator, List<Job> jobs) {
        Log log = new Log();
        simulator.run(jobs, log);
        assertThat(log.transfers).isNotEmpty();
        return log.transfers;
    }

    static IntStream seeds() {
        return IntStream.range(0, 40);
    }

    @ParameterizedTest
    @MethodSource("seeds")
    void onRandomLinks(int seed) {
        Random random = new Random(seed);
        int ranks = 2 + random.nextInt(7);
        List<Job> jobs = IntStream.range(0, 1 + random.nextInt(4))
                .mapToObj(job -> Job.of(Samples.randomSchedule(ranks, random)))
                .toList();
        Links links = new Links(Samples.random(random, ranks), Samples.randomProfile(random));
        links.check(transfers(new Simulator(links.network, List.of(), links.profile), jobs));
    }

    @ParameterizedTest
    @ValueSource(strings = {"dgx-2", "dgx-a100", "pcie-8", "p2.16xlarge"})
    void onMachinesWhoseTransfersShareLinks(String name) {
        Machine machine = Samples.preset(name);
        Links all = new Links(Network.ofAllLinks(machine, ranks(machine)), Profiles.of(machine));
        CollectiveAlgorithm trees =
                new ForestAlgorithm("multi-tree", new KernighanLin().generate(LinkMatrix.of(machine), ranks(machine)));
        for (CollectiveAlgorithm algorithm : List.of(trees, new StarAlgorithm(machine.size()))) {
            Job job = Job.of(Samples.allReduce(algorithm, 3L << 20, 1 << 16));
            all.check(transfers(new Simulator(all.network, List.of(), all.profile), List.of(job)));
        }
        PackedAlgorithm packed = new PackedAlgorithm(Network.of(machine));
        TreePacking packing = packed.packing(Collective.ALL_REDUCE, -1);
        Links own = new Links(packing.network(), Profiles.of(machine));
        Job job = Job.of(Samples.allReduce(packed, 3L << 20, 1 << 16));
        own.check(transfers(new Simulator(own.network, packing.links(), own.profile), List.of(job)));
    }

    private static int[] ranks(Machine machine) {
        return IntStream.range(0, machine.size()).toArray();
    }
}
