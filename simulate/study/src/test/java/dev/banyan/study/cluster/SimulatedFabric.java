package dev.banyan.study.cluster;

import dev.banyan.schedule.Chunk;
import dev.banyan.schedule.Location;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.Space;
import dev.banyan.schedule.Step;
import dev.banyan.schedule.internal.algorithm.CollectiveRequest;
import dev.banyan.schedule.internal.algorithm.RingAlgorithm;
import dev.banyan.schedule.type.Collective;
import dev.banyan.simulate.Constant;
import dev.banyan.simulate.Job;
import dev.banyan.simulate.Profile;
import dev.banyan.simulate.Profiles;
import dev.banyan.simulate.Simulator;
import dev.banyan.study.training.Gradient;
import dev.banyan.topology.Device;
import dev.banyan.topology.Hub;
import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;
import dev.banyan.trees.network.Network;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/** A fabric's leaders as devices, and its leaves and spine as hubs, for the simulator's own engine. */
record SimulatedFabric(int machines, Fabric fabric, HostCosts host) {
    double ringUs(long elements) {
        RingAlgorithm ring = new RingAlgorithm(IntStream.range(0, machines).toArray());
        return us(List.of(Job.of(ring.schedule(new CollectiveRequest(
                Collective.ALL_REDUCE, -1, elements, Gradient.ELEMENT_BYTES, false, Long.MAX_VALUE)))));
    }

    /** For powers of two: halves, quarters and so on to and from ever farther machines, step by step. */
    double halvingUs(long elements) {
        List<Job> jobs = new ArrayList<>();
        for (int distance = 1; distance < machines; distance *= 2) {
            exchange(jobs, distance, elements / 2 / distance, true);
        }
        for (int distance = machines / 2; distance > 0; distance /= 2) {
            exchange(jobs, distance, elements / 2 / distance, false);
        }
        return us(jobs);
    }

    /** For powers of two: everything to and from ever farther machines, step by step. */
    double doublingUs(long elements) {
        List<Job> jobs = new ArrayList<>();
        for (int distance = 1; distance < machines; distance *= 2) {
            exchange(jobs, distance, elements, true);
        }
        return us(jobs);
    }

    /** Every machine gets so many elements from its partner, and adds them to its own or just has them. */
    private void exchange(List<Job> jobs, int distance, long elements, boolean sums) {
        List<Step> steps = IntStream.range(0, machines)
                .mapToObj(rank -> {
                    Location theirs = new Location(rank ^ distance, Space.INPUT, 0);
                    Location own = new Location(rank, Space.INPUT, 0);
                    return new Step(
                            sums ? List.of(own, theirs) : List.of(theirs),
                            new Location(rank, Space.OUTPUT, 0),
                            List.of());
                })
                .toList();
        Schedule schedule = new Schedule(
                "exchange",
                Collective.ALL_REDUCE,
                machines,
                -1,
                elements,
                Gradient.ELEMENT_BYTES,
                false,
                0,
                List.of(new Chunk(elements * Gradient.ELEMENT_BYTES, steps)));
        jobs.add(new Job(schedule, 0, jobs.isEmpty() ? List.of() : List.of(jobs.size() - 1)));
    }

    private double us(List<Job> jobs) {
        return new Simulator(Network.of(machine()), List.of(), profile())
                .run(jobs)
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
                    machine,
                    machines + machine / fabric.leafMachines(),
                    Link.Kind.PCIE,
                    1,
                    fabric.machineGbs(),
                    fabric.latencyUs() / 2));
        }
        return new Machine("fabric", devices, hubs, links, List.of(), List.of());
    }

    /** Nothing but links and sums: a kernel reads two sources and writes its target. */
    private Profile profile() {
        Profile profile = Profiles.find("pcie")
                .orElseThrow()
                .with(Constant.PCIE_EFFICIENCY, 1, "nominal")
                .with(Constant.REDUCE_GBS, 3 * host.reduceGbs(), "two sources and the target of each sum")
                .with(Constant.COPY_ENGINES, machines, "no limit");
        for (Constant nothing : List.of(
                Constant.PCIE_HOP_US,
                Constant.PCIE_QUEUEING,
                Constant.KERNEL_US,
                Constant.LAUNCH_US,
                Constant.ISSUE_US,
                Constant.COLLECTIVE_US)) {
            profile = profile.with(nothing, 0, "nothing");
        }
        return profile;
    }
}
