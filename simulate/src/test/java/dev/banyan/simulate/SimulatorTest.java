package dev.banyan.simulate;

import static dev.banyan.simulate.Samples.IDEAL;
import static dev.banyan.simulate.Samples.allToAll;
import static dev.banyan.simulate.Samples.around;
import static dev.banyan.simulate.Samples.combine;
import static dev.banyan.simulate.Samples.copy;
import static dev.banyan.simulate.Samples.ideal;
import static dev.banyan.simulate.Samples.machine;
import static dev.banyan.simulate.Samples.nvlink;
import static dev.banyan.simulate.Samples.pcie;
import static dev.banyan.simulate.Samples.schedule;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import dev.banyan.schedule.Chunk;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.Step;
import dev.banyan.topology.Hub;
import dev.banyan.topology.Link;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.Machine;
import dev.banyan.topology.NoPeerAccess;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.LogicalLink;
import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.commons.numbers.fraction.BigFraction;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;

/** Cases that are worked out by hand: 10 GB/s carry 10 MB in 1000 us. */
class SimulatorTest {
    private static final long BYTES = 10_000_000;
    private static final Offset<Double> EXACT = within(1e-5);

    private static double end(Network network, Profile profile, Schedule schedule) {
        return new Simulator(network, List.of(), profile).run(schedule).endUs();
    }

    private static int arc(Network network, int from, int to) {
        return network.arc(from, to);
    }

    @Test
    void oneCopyTakesItsBytesOverTheBandwidth() {
        Network network = allToAll(2, 10);
        Simulation simulation = new Simulator(network, List.of(), IDEAL).run(schedule(2, BYTES, copy(0, 1)));
        assertThat(simulation.endUs()).isEqualTo(1000, EXACT);
        assertThat(simulation.bytes(arc(network, 0, 1))).isEqualTo(BYTES);
        assertThat(simulation.busyUs(arc(network, 0, 1))).isEqualTo(1000, EXACT);
        assertThat(simulation.bytes(arc(network, 1, 0))).isZero();
        assertThat(simulation.busyUs(arc(network, 1, 0))).isZero();
    }

    @Test
    void efficiencyLatencyLaunchAndCallAddUp() {
        Network network = Network.of(machine(2, 0, Link.duplex(0, 1, Link.Kind.NVLINK, 1, 10, 1.5)));
        Profile profile = ideal(Constant.NVLINK_EFFICIENCY, 0.8)
                .with(Constant.NVLINK_HOP_US, 0.25, "test")
                .with(Constant.LAUNCH_US, 2, "test")
                .with(Constant.COLLECTIVE_US, 10, "test");
        assertThat(end(network, profile, schedule(2, BYTES, copy(0, 1)))).isEqualTo(1250 + 1.75 + 2 + 10, EXACT);
    }

    @Test
    void aLatencyThatProfilesReduceBelowZeroIsNone() {
        Network network = Network.of(machine(2, 0, Link.duplex(0, 1, Link.Kind.NVLINK, 1, 10, 1.5)));
        assertThat(end(network, ideal(Constant.NVLINK_HOP_US, -2), schedule(2, BYTES, copy(0, 1))))
                .isEqualTo(1000, EXACT);
    }

    @Test
    void bothWaysOfALinkAreIndependent() {
        Network network = around(2, 10);
        Simulation simulation =
                new Simulator(network, List.of(), IDEAL).run(schedule(2, BYTES, copy(0, 1), copy(1, 0)));
        assertThat(simulation.endUs()).isEqualTo(1000, EXACT);
        for (int arc = 0; arc < network.arcs(); arc++) {
            assertThat(simulation.bytes(arc)).isEqualTo(BYTES);
            assertThat(simulation.busyUs(arc)).isEqualTo(1000, EXACT);
        }
    }

    @Test
    void copiesIntoOneDeviceShareItsLink() {
        // 10 and 30 MB: both at 5 GB/s up to 2000 us, then 20 MB alone.
        Schedule schedule =
                schedule(3, new Chunk(BYTES, List.of(copy(0, 2))), new Chunk(3 * BYTES, List.of(copy(1, 2))));
        Network network = around(3, 10);
        Simulator simulator = new Simulator(network, List.of(), IDEAL);
        Simulation simulation = simulator.run(schedule);
        assertThat(simulation.endUs()).isEqualTo(4000, EXACT);
        assertThat(simulation.busyUs(arc(network, 0, 3))).isEqualTo(2000, EXACT);
        assertThat(simulation.busyUs(arc(network, 1, 3))).isEqualTo(4000, EXACT);
        assertThat(simulation.busyUs(arc(network, 3, 2))).isEqualTo(4000, EXACT);
        assertThat(simulation.bytes(arc(network, 3, 2))).isEqualTo(4 * BYTES);
    }

    @Test
    void aCopyThatComesLaterSlowsTheOneThatIsThere() {
        // The first is alone for 1000 us (10 MB), shares for 2000 us (10 MB), and is alone for 1000 us again.
        Schedule first = schedule(3, 3 * BYTES, copy(0, 2));
        Schedule second = schedule(3, BYTES, copy(1, 2));
        Simulation simulation = new Simulator(around(3, 10), List.of(), IDEAL)
                .run(List.of(Job.of(first), new Job(second, 1000, List.of())));
        assertThat(simulation.endUs(1)).isEqualTo(3000, EXACT);
        assertThat(simulation.endUs(0)).isEqualTo(4000, EXACT);
        assertThat(simulation.endUs()).isEqualTo(4000, EXACT);
    }

    @Test
    void queueingOnPcieLosesBandwidth() {
        Schedule schedule = schedule(3, BYTES, copy(0, 2), copy(1, 2));
        assertThat(end(around(3, 10), ideal(Constant.PCIE_QUEUEING, 0.25), schedule))
                .isEqualTo(2500, EXACT);
    }

    @Test
    void hopsSumTheirLatencies() {
        Network network = Network.of(machine(
                2,
                2,
                Link.duplex(0, 2, Link.Kind.PCIE, 16, 10, 1),
                Link.duplex(2, 3, Link.Kind.SOCKET, 1, 10, 2),
                Link.duplex(3, 1, Link.Kind.PCIE, 16, 20, 4)));
        Profile profile = ideal(Constant.PCIE_HOP_US, 10).with(Constant.SOCKET_HOP_US, 100, "test");
        assertThat(end(network, profile, schedule(2, BYTES, copy(0, 1)))).isEqualTo(1127, EXACT);
    }

    @Test
    void copyEnginesLimitWhatLeavesADevice() {
        Schedule schedule = schedule(4, BYTES, copy(0, 1), copy(0, 2), copy(0, 3));
        assertThat(end(allToAll(4, 10), ideal(Constant.COPY_ENGINES, 1), schedule))
                .isEqualTo(3000, EXACT);
        assertThat(end(allToAll(4, 10), ideal(Constant.COPY_ENGINES, 2), schedule))
                .isEqualTo(2000, EXACT);
        assertThat(end(allToAll(4, 10), ideal(Constant.COPY_ENGINES, 3), schedule))
                .isEqualTo(1000, EXACT);
    }

    @Test
    void copyEnginesLimitWhatEntersADevice() {
        Schedule schedule = schedule(4, BYTES, copy(1, 0), copy(2, 0), copy(3, 0), copy(0, 1));
        assertThat(end(allToAll(4, 10), ideal(Constant.COPY_ENGINES, 1), schedule))
                .isEqualTo(3000, EXACT);
    }

    @Test
    void chunksFollowEachOtherAlongAChain() {
        int devices = 5;
        int chunks = 7;
        Network network = Network.of(machine(
                devices,
                0,
                IntStream.range(1, devices).mapToObj(i -> nvlink(i - 1, i, 10)).toArray(Link[]::new)));
        List<Step> chain = IntStream.range(1, devices)
                .mapToObj(i -> i == 1 ? copy(0, 1) : copy(i - 1, i, i - 2))
                .toList();
        Schedule schedule = schedule(
                devices, Collections.nCopies(chunks, new Chunk(BYTES, chain)).toArray(Chunk[]::new));
        int hops = devices - 1;
        assertThat(end(network, IDEAL, schedule)).isEqualTo((chunks + hops - 1) * 1000, EXACT);
        // Latencies and launches are paid once per hop: they overlap with the chunk before.
        Profile slow = ideal(Constant.NVLINK_HOP_US, 3).with(Constant.LAUNCH_US, 2, "test");
        assertThat(end(network, slow, schedule)).isEqualTo((chunks + hops - 1) * 1000 + hops * 5, EXACT);
    }

    @Test
    void tinyCopiesOfAPairAreALaunchApart() {
        Schedule schedule = schedule(
                2, Collections.nCopies(100, new Chunk(1, List.of(copy(0, 1)))).toArray(Chunk[]::new));
        assertThat(end(allToAll(2, 10), ideal(Constant.LAUNCH_US, 2), schedule)).isEqualTo(200, within(1e-3));
        assertThat(end(around(2, 10), ideal(Constant.LAUNCH_US, 2), schedule)).isEqualTo(200, within(1e-3));
    }

    @Test
    void theHostIssuesForEachDeviceInTurn() {
        Schedule schedule = schedule(3, 1, copy(0, 1), copy(0, 1), copy(0, 2), copy(0, 1));
        assertThat(end(allToAll(3, 10), ideal(Constant.ISSUE_US, 5), schedule)).isEqualTo(15, within(1e-3));
    }

    @Test
    void aReductionCopiesAllAtOnceAndCombinesOnce() {
        Network network = allToAll(4, 10);
        Profile profile = ideal(Constant.REDUCE_GBS, 100)
                .with(Constant.KERNEL_US, 3, "test")
                .with(Constant.LAUNCH_US, 2, "test");
        Simulation simulation =
                new Simulator(network, List.of(), profile).run(schedule(4, BYTES, combine(0, List.of(0, 1, 2, 3))));
        // Five times 10 MB through the memory at 100 GB/s.
        assertThat(simulation.endUs()).isEqualTo(2 + 1000 + 2 + 3 + 500, EXACT);
        assertThat(simulation.reducedBytes(0)).isEqualTo(5 * BYTES);
        assertThat(simulation.reducedBytes(1)).isZero();
    }

    @Test
    void sourcesThatAreAllRemoteNeedAKernelToo() {
        assertThat(end(allToAll(3, 10), ideal(Constant.REDUCE_GBS, 30), schedule(3, BYTES, combine(0, List.of(1, 2)))))
                .isEqualTo(2000, EXACT);
    }

    @Test
    void aCopyWithinADeviceIsAKernel() {
        assertThat(end(allToAll(2, 10), ideal(Constant.REDUCE_GBS, 20), schedule(2, BYTES, copy(1, 1))))
                .isEqualTo(1000, EXACT);
    }

    @Test
    void kernelsOfADeviceComeOneAfterAnother() {
        Schedule schedule = schedule(2, BYTES, copy(0, 0), copy(0, 0), copy(1, 1));
        assertThat(end(allToAll(2, 10), ideal(Constant.REDUCE_GBS, 20), schedule))
                .isEqualTo(2000, EXACT);
    }

    @Test
    void stepsWaitForThoseBefore() {
        Network network = allToAll(4, 10);
        Schedule schedule = schedule(4, BYTES, copy(0, 1), copy(0, 2), copy(1, 3, 0, 1), copy(2, 3, 2), copy(3, 0));
        Simulation simulation = new Simulator(network, List.of(), IDEAL).run(schedule);
        assertThat(simulation.endUs()).isEqualTo(3000, EXACT);
    }

    @Test
    void jobsWaitForJobsAndTheHostStartsOneAtATime() {
        Schedule copy = schedule(3, BYTES, copy(0, 1));
        Schedule other = schedule(3, BYTES, copy(0, 2));
        Schedule empty = schedule(3);
        Simulator simulator = new Simulator(allToAll(3, 10), List.of(), ideal(Constant.COLLECTIVE_US, 10));
        Simulation simulation = simulator.run(List.of(
                Job.of(copy),
                Job.of(other),
                new Job(copy, 500, List.of(0, 1)),
                new Job(empty, 5000, List.of()),
                new Job(other, 0, List.of(3))));
        assertThat(simulation.endUs(0)).isEqualTo(1010, EXACT);
        assertThat(simulation.endUs(1)).isEqualTo(1020, EXACT);
        assertThat(simulation.endUs(2)).isEqualTo(1020 + 10 + 1000, EXACT);
        assertThat(simulation.endUs(3)).isEqualTo(5010, EXACT);
        assertThat(simulation.endUs(4)).isEqualTo(6020, EXACT);
        assertThat(simulation.steps()).isEqualTo(4);
    }

    @Test
    void jobsBeginADelayAfterTheLastOfThoseBefore() {
        Schedule copy = schedule(3, BYTES, copy(0, 1));
        Schedule other = schedule(3, 2 * BYTES, copy(0, 2));
        Simulation simulation = new Simulator(allToAll(3, 10), List.of(), IDEAL)
                .run(List.of(
                        Job.of(copy),
                        Job.of(other),
                        new Job(copy, 500, List.of(0, 1), 700),
                        new Job(copy, 9000, List.of(2), 100)));
        assertThat(simulation.endUs(2)).isEqualTo(2000 + 700 + 1000, EXACT);
        assertThat(simulation.endUs(3)).isEqualTo(9000 + 1000, EXACT);
        assertThatThrownBy(() -> new Job(copy, 0, List.of(), Double.NaN))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("a job is delayed by NaN us");
    }

    @Test
    void pathsCarryTheirShares() {
        // Three quarters over the direct link, a quarter through the hub.
        Network network = Network.ofAllLinks(machine(2, 1, nvlink(0, 1, 30), pcie(0, 2, 5), pcie(2, 1, 8)), 0, 1);
        LogicalLink link = new LogicalLink(
                0,
                1,
                List.of(
                        new LogicalLink.Path(List.of(0, 1), BigFraction.of(3, 4)),
                        new LogicalLink.Path(List.of(0, 2, 1), BigFraction.of(1, 4))));
        Simulation simulation = new Simulator(network, List.of(link), ideal(Constant.PCIE_HOP_US, 7))
                .run(schedule(2, BYTES, copy(0, 1), copy(1, 0)));
        assertThat(simulation.endUs()).isEqualTo(500 + 14, EXACT);
        assertThat(simulation.bytes(arc(network, 0, 1))).isEqualTo(0.75 * BYTES);
        assertThat(simulation.bytes(arc(network, 0, 2))).isEqualTo(0.25 * BYTES);
        assertThat(simulation.bytes(arc(network, 2, 1))).isEqualTo(0.25 * BYTES);
        assertThat(simulation.bytes(arc(network, 1, 0))).isEqualTo(BYTES);
    }

    /** Returns a machine with other hubs, whose devices 0 and 1 have no peer access. */
    private static Machine refusedPair(Machine machine, Hub... hubs) {
        return NoPeerAccess.mark(
                new Machine("test", machine.devices(), List.of(hubs), machine.links(), List.of(), List.of()), 0, 1);
    }

    /** Each way alone has the link; at once they have 0.6 of both. Rank 2, which has peer access, is not held back. */
    @Test
    void copiesWithoutPeerAccessShareTheWayThroughTheHost() {
        Machine below = machine(3, 1, pcie(0, 3, 10), pcie(1, 3, 10), pcie(2, 3, 10));
        Machine machine = refusedPair(below, Hub.of("CPU", Hub.Kind.CPU_SOCKET));
        Network network = Network.ofAllLinks(machine, 0, 1, 2);
        Profile profile = ideal(Constant.HOST_DUPLEX, 0.6);
        assertThat(end(network, profile, schedule(3, BYTES, copy(0, 1)))).isEqualTo(1000, EXACT);
        assertThat(end(network, profile, schedule(3, BYTES, copy(0, 1), copy(1, 0))))
                .isEqualTo(1000 / 0.6, EXACT);
        assertThat(end(network, profile, schedule(3, BYTES, copy(0, 2), copy(2, 0))))
                .isEqualTo(1000, EXACT);
        assertThat(end(Network.ofAllLinks(machine, 2, 1, 0), profile, schedule(3, BYTES, copy(1, 2), copy(2, 1))))
                .isEqualTo(1000 / 0.6, EXACT);
    }

    /** The switch carries nothing between ranks 0 and 1, though a plan says so, and all between others. */
    @Test
    void copiesWithoutPeerAccessTakeNoSwitchOfNvlinks() {
        Machine below = machine(
                3,
                2,
                nvlink(0, 3, 100),
                nvlink(1, 3, 100),
                nvlink(2, 3, 100),
                pcie(0, 4, 10),
                pcie(1, 4, 10),
                pcie(2, 4, 10));
        Machine machine = refusedPair(below, Hub.of("switch", Hub.Kind.NVSWITCH), Hub.of("CPU", Hub.Kind.CPU_SOCKET));
        Network network = Network.ofAllLinks(machine, 0, 1, 2);
        Profile profile = ideal(Constant.HOST_DUPLEX, 1);
        assertThat(end(network, profile, schedule(3, BYTES, copy(0, 1)))).isEqualTo(1000, EXACT);
        assertThat(end(network, profile, schedule(3, BYTES, copy(1, 2)))).isEqualTo(100, EXACT);
        LogicalLink planned = new LogicalLink(0, 1, List.of(new LogicalLink.Path(List.of(0, 3, 1), BigFraction.ONE)));
        assertThat(new Simulator(network, List.of(planned), profile)
                        .run(schedule(3, BYTES, copy(0, 1)))
                        .endUs())
                .isEqualTo(1000, EXACT);
    }

    /** As a probe marks pairs whose NVLink is wrong or stuck. */
    @Test
    void copiesWithoutPeerAccessTakeNoNvlinkBetweenThem() {
        Machine machine = NoPeerAccess.mark(machine(2, 1, nvlink(0, 1, 100), pcie(0, 2, 10), pcie(1, 2, 10)), 0, 1);
        assertThat(end(
                        Network.ofAllLinks(machine, 0, 1),
                        ideal(Constant.HOST_DUPLEX, 1),
                        schedule(2, BYTES, copy(0, 1))))
                .isEqualTo(1000, EXACT);
    }

    /** Both ways go up and down the link above the switch, which has the width of one. */
    @Test
    void copiesWithoutPeerAccessBelowASwitchShareTheLinkAboveIt() {
        Machine below = machine(2, 2, pcie(0, 2, 10), pcie(1, 2, 10), pcie(2, 3, 10));
        Machine machine =
                refusedPair(below, Hub.of("switch", Hub.Kind.PCIE_SWITCH), Hub.of("CPU", Hub.Kind.CPU_SOCKET));
        Network network = Network.ofAllLinks(machine, 0, 1);
        Profile profile = ideal(Constant.HOST_DUPLEX, 1);
        assertThat(end(network, profile, schedule(2, BYTES, copy(0, 1)))).isEqualTo(1000, EXACT);
        assertThat(end(network, profile, schedule(2, BYTES, copy(0, 1), copy(1, 0))))
                .isEqualTo(2000, EXACT);
        assertThat(end(network, ideal(Constant.HOST_DUPLEX, 0.5), schedule(2, BYTES, copy(0, 1), copy(1, 0))))
                .isEqualTo(4000, EXACT);
    }

    @Test
    void nothingHoldsBackWhatCouldBegin() {
        // From 0 to 1 the first chunk waits for 2's data; the second could go at once.
        Schedule schedule = schedule(
                3, new Chunk(BYTES, List.of(copy(2, 0), copy(0, 1, 0))), new Chunk(BYTES, List.of(copy(0, 1))));
        Network network = allToAll(3, 10);
        assertThat(end(network, IDEAL, schedule)).isEqualTo(2000, EXACT);
    }

    @Test
    void impossibleInputIsRefusedWithTheRemedy() {
        Network line = Network.of(machine(3, 0, nvlink(0, 1, 10), nvlink(1, 2, 10)));
        Simulator simulator = new Simulator(line, List.of(), IDEAL);
        assertThatThrownBy(() -> simulator.run(schedule(3, BYTES, copy(0, 2))))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("no path from rank 0 to rank 2 in the network of test, which leaves PCIe out; take the"
                        + " network of all links");
        assertThatThrownBy(() -> simulator.run(schedule(4, BYTES, copy(0, 1))))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("job 0 has 4 ranks; the network of test has 3");
        assertThatThrownBy(() -> simulator.run(schedule(3, BYTES, copy(0, 3))))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("names rank 3; the ranks are 0..2");
        assertThatThrownBy(() -> simulator.run(List.of(new Job(schedule(3, BYTES, copy(0, 1)), 0, List.of(0)))))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("job 0 is after job 0, which does not come before it");
        assertThatThrownBy(() -> new Job(schedule(3), -1, List.of()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("a job starts at -1.0 us");
        assertThatThrownBy(() -> simulator.run(schedule(3, 1L << 62, copy(0, 1))))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("passes 26 days");
        assertThatThrownBy(() -> new Simulator(
                        line,
                        List.of(new LogicalLink(0, 2, List.of(new LogicalLink.Path(List.of(0, 2), BigFraction.ONE)))),
                        IDEAL))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("path [0, 2] takes an arc that test has not");
        assertThatThrownBy(() -> new Simulator(
                        line,
                        List.of(new LogicalLink(0, 2, List.of(new LogicalLink.Path(List.of(0, 1), BigFraction.ONE)))),
                        IDEAL))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("path [0, 1] does not lead from rank 0 to rank 2");
    }

    /** A link that carries nothing is none: there is another path, or the refusal of one, never an endless copy. */
    @Test
    void linksWithoutBandwidthAreNoPath() {
        Network staged = Network.of(machine(2, 0, pcie(0, 1, 0)));
        assertThat(staged.warnings()).hasSize(1);
        assertThat(end(staged, IDEAL, schedule(2, BYTES, copy(1, 0))))
                .isEqualTo(BYTES / (LinkMatrix.HOST_STAGED_GBS * 1e3), EXACT);
        Network line = Network.of(machine(3, 0, nvlink(0, 1, 10), nvlink(1, 2, 10), nvlink(0, 2, 0)));
        assertThatThrownBy(() -> end(line, IDEAL, schedule(3, BYTES, copy(0, 2))))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("no path from rank 0 to rank 2 in the network of test");
    }
}
