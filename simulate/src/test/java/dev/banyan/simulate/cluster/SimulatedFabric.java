package dev.banyan.simulate.cluster;

import dev.banyan.reduce.algorithm.CollectiveRequest;
import dev.banyan.reduce.algorithm.RingAlgorithm;
import dev.banyan.reduce.algorithm.TreeAlgorithm;
import dev.banyan.reduce.type.Collective;
import dev.banyan.simulate.Constant;
import dev.banyan.simulate.Profile;
import dev.banyan.simulate.Profiles;
import dev.banyan.simulate.Simulator;
import dev.banyan.simulate.training.Gradient;
import dev.banyan.topology.Device;
import dev.banyan.topology.Hub;
import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;
import dev.banyan.trees.Tree;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.PackedTree;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.commons.numbers.fraction.BigFraction;

/** A fabric's leaders as devices, and its leaves and spine as hubs, for the simulator's own engine. */
record SimulatedFabric(int machines, Fabric fabric, HostCosts host) {
    /** Each rank's partial sum of a block goes where the lowest bit differs in which it isn't the block's owner. */
    private record Halving(int ranks) implements TreeAlgorithm {
        @Override
        public String name() {
            return "halving-doubling";
        }

        @Override
        public List<PackedTree> trees(Collective collective, int root) {
            return IntStream.range(0, ranks)
                    .mapToObj(owner -> PackedTree.of(
                            BigFraction.of(1, ranks),
                            Tree.ofParents(IntStream.range(0, ranks)
                                    .map(rank -> rank == owner ? -1 : rank ^ Integer.lowestOneBit(rank ^ owner))
                                    .toArray())))
                    .toList();
        }
    }

    double ringUs(long elements) {
        return us(new RingAlgorithm(IntStream.range(0, machines).toArray()), elements);
    }

    double halvingUs(long elements) {
        return us(new Halving(machines), elements);
    }

    private double us(TreeAlgorithm algorithm, long elements) {
        return new Simulator(Network.of(machine()), List.of(), profile())
                .run(algorithm.schedule(new CollectiveRequest(
                        Collective.ALL_REDUCE, -1, elements, Gradient.ELEMENT_BYTES, false, Long.MAX_VALUE)))
                .endUs();
    }

    private Machine machine() {
        int leaves = Math.ceilDiv(machines, fabric.leafMachines());
        int spine = machines + leaves;
        List<Device> devices = new ArrayList<>();
        List<Hub> hubs = new ArrayList<>();
        List<Link> links = new ArrayList<>();
        for (int leaf = 0; leaf < leaves; leaf++) {
            hubs.add(Hub.of("leaf " + leaf, Hub.Kind.PCIE_SWITCH));
            links.add(Link.duplex(machines + leaf, spine, Link.Kind.PCIE, 1, fabric.leafGbs(), 0));
        }
        hubs.add(Hub.of("spine", Hub.Kind.PCIE_SWITCH));
        for (int machine = 0; machine < machines; machine++) {
            devices.add(new Device("machine " + machine, null, -1, Map.of()));
            links.add(Link.duplex(
                    machine, machines + machine / fabric.leafMachines(), Link.Kind.PCIE, 1, fabric.machineGbs(),
                    fabric.latencyUs() / 2));
        }
        return new Machine("fabric", devices, hubs, links, List.of(), List.of());
    }

    /** Nothing but wires and sums: a kernel reads two sources and writes its target. */
    private Profile profile() {
        Profile profile = Profiles.find("pcie").orElseThrow()
                .with(Constant.PCIE_EFFICIENCY, 1, "nominal")
                .with(Constant.REDUCE_GBS, 3 * host.reduceGbs(), "two sources and the target of each sum")
                .with(Constant.COPY_ENGINES, machines, "no limit");
        for (Constant nothing : List.of(
                Constant.PCIE_HOP_US, Constant.PCIE_QUEUEING, Constant.KERNEL_US, Constant.LAUNCH_US,
                Constant.ISSUE_US, Constant.COLLECTIVE_US)) {
            profile = profile.with(nothing, 0, "nothing");
        }
        return profile;
    }
}
