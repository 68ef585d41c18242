package dev.banyan.simulate;

import static dev.banyan.simulate.Samples.IDEAL;
import static dev.banyan.simulate.Samples.allToAll;
import static dev.banyan.simulate.Samples.copy;
import static dev.banyan.simulate.Samples.preset;
import static dev.banyan.simulate.Samples.schedule;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import dev.banyan.config.Config;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.internal.algorithm.CollectiveRequest;
import dev.banyan.schedule.internal.program.Channel;
import dev.banyan.schedule.internal.program.Lane;
import dev.banyan.schedule.internal.program.ProgramLayout;
import dev.banyan.schedule.internal.program.ProgramSizes;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.schedule.plan.Execution;
import dev.banyan.schedule.plan.PlannedSchedule;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.plan.Platform;
import dev.banyan.schedule.type.Collective;
import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;
import dev.banyan.topology.NoPeerAccess;
import dev.banyan.trees.bound.AllReduceBound;
import dev.banyan.trees.network.Network;
import java.util.List;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Cases that are worked out by hand, and what must hold of any program. */
class ProgramSimulatorTest {
    private static final Offset<Double> EXACT = within(1e-4);
    /** Kernels begin after 5 and 6 us, a flag takes 2 us, lines 1 us, a slice 0.5 us, and the end 3 us. */
    private static final Profile TIMES = IDEAL.with(Constant.PROGRAM_LAUNCH_US, 5, "test")
            .with(Constant.PROGRAM_LAUNCH_STEP_US, 1, "test")
            .with(Constant.PROGRAM_FLAG_US, 2, "test")
            .with(Constant.PROGRAM_LINE_US, 1, "test")
            .with(Constant.PROGRAM_SLICE_US, 0.5, "test")
            .with(Constant.PROGRAM_END_US, 3, "test");

    private static final Machine PAIR = Samples.machine(2, 0, Samples.nvlink(0, 1, 10));

    /** One lane, in slices of 8 KiB. */
    private static ProgramSizes slices(int slots) {
        return new ProgramSizes(0, 8 << 10, slots, 2);
    }

    private static Simulation run(Profile profile, long bytes, ProgramSizes sizes) {
        return new ProgramSimulator(PAIR, allToAll(2, 10), List.of(), profile)
                .run(ProgramLayout.of(schedule(2, bytes, copy(0, 1)), sizes));
    }

    @Test
    void linesAreTwiceAsLongAsTheirDataAndNeedNoReadiness() {
        // The sender begins at 5 us, stores 8000 bytes in 0.8 us, and is seen 1 us later.
        Simulation simulation = run(TIMES, 4000, ProgramSizes.DEFAULT);
        assertThat(simulation.endUs()).isEqualTo(5 + 0.8 + 1 + 3, EXACT);
        assertThat(simulation.bytes(0)).isEqualTo(8000);
        assertThat(simulation.busyUs(0)).isEqualTo(0.8, EXACT);
    }

    @Test
    void slicesTakeTheirTurns() {
        // From 8 us two slices of 0.5 + 0.8192 us, seen 2 us later; the receiver takes 0.5 us for the last one.
        Simulation simulation = run(TIMES, 16 << 10, slices(4));
        assertThat(simulation.endUs()).isEqualTo(8 + 2 * 1.3192 + 2 + 0.5 + 3, EXACT);
        assertThat(simulation.bytes(0)).isEqualTo(16 << 10);
    }

    @Test
    void aSlotIsUsedAgainWhenItsReceiverHasReadIt() {
        // The second slice begins when the receiver's flag is seen: 2 + 0.5 + 2 us after the end of the first.
        assertThat(run(TIMES, 16 << 10, slices(1)).endUs())
                .isEqualTo(8 + 1.3192 + 2 + 0.5 + 2 + 1.3192 + 2 + 0.5 + 3, EXACT);
    }

    @Test
    void aBlockLoadsAndStoresAtItsOwnRate() {
        // A load and a store of each byte at 4 GB/s in all: 4.096 us a slice, and the receiver is one slice behind.
        Profile slow = IDEAL.with(Constant.PROGRAM_BLOCK_GBS, 4, "test");
        assertThat(run(slow, 16 << 10, slices(4)).endUs()).isEqualTo(3 * 4.096, EXACT);
    }

    @Test
    void fewThreadsAreSlowerInProportion() {
        // 1 KiB is for 64 of 512 threads: 512 MB/s.
        Profile slow = IDEAL.with(Constant.PROGRAM_BLOCK_GBS, 4, "test");
        assertThat(run(slow, 1 << 10, slices(4)).endUs()).isEqualTo(2 * 1024 * 2 / 500., EXACT);
    }

    @Test
    void storesReachAFractionOfWhatCopiesReach() {
        Profile profile =
                IDEAL.with(Constant.PROGRAM_STORE_FRACTION, 0.5, "test").with(Constant.NVLINK_EFFICIENCY, 0.8, "test");
        assertThat(run(profile, 16 << 10, slices(4)).endUs()).isEqualTo(16.384 / 4, EXACT);
    }

    @Test
    void lanesShareALinkEqually() {
        // Four lanes, none of which ever waits for a slot: the link is busy from 8 us on.
        Profile profile = TIMES.with(Constant.PROGRAM_SLICE_US, 0, "test");
        ProgramSizes sizes = new ProgramSizes(0, 8 << 10, 4, 8);
        assertThat(run(profile, 100_000, sizes).endUs()).isEqualTo(8 + 10 + 2 + 3, EXACT);
    }

    @Test
    void otherRanksAreRefused() {
        ProgramLayout layout = ProgramLayout.of(schedule(3, 64, copy(0, 1)), ProgramSizes.DEFAULT);
        ProgramSimulator simulator = new ProgramSimulator(PAIR, allToAll(2, 10), List.of(), IDEAL);
        assertThatThrownBy(() -> simulator.run(layout)).hasMessage("a program of 3 ranks; the network of test has 2");
    }

    /** A machine with its simulator and planner. */
    private record Setup(SimulatedCosts costs, Planner planner) {
        static Setup of(String name) {
            Machine machine = preset(name);
            SimulatedCosts costs = new SimulatedCosts(machine, Profiles.of(machine), Execution.PROGRAMS);
            return new Setup(costs, new Planner(machine, Config.defaults(), costs, costs.platform()));
        }

        PlannedSchedule plan(AlgorithmChoice algorithm, long bytes) {
            return planner.plan(AlgorithmConfig.of(algorithm), allReduce(bytes));
        }

        PlannedSchedule best(long bytes) {
            return planner.plan(planner.choose(allReduce(bytes)), allReduce(bytes));
        }

        ProgramLayout layout(PlannedSchedule planned) {
            return costs.program(planned.schedule(), planned.links()).orElseThrow();
        }

        double us(PlannedSchedule planned) {
            return costs.programSimulator(planned.links()).predictedUs(layout(planned));
        }

        double launchUs() {
            return costs.programSimulator(List.of()).launchUs();
        }
    }

    private static CollectiveRequest allReduce(long bytes) {
        return new CollectiveRequest(Collective.ALL_REDUCE, -1, bytes / 4, 4, true, Long.MAX_VALUE);
    }

    @ParameterizedTest
    @CsvSource({"p3.16xlarge,8192", "p3.16xlarge,3000000", "dgx-a100,8192", "dgx-a100,3000000"})
    void allBytesOfTheProgramCrossLinks(String name, long bytes) {
        Setup setup = Setup.of(name);
        PlannedSchedule planned = setup.plan(AlgorithmChoice.PACKING, bytes);
        ProgramLayout layout = setup.layout(planned);
        Simulation simulation = setup.costs().programSimulator(planned.links()).run(layout);
        double sent = 0;
        for (Lane lane : layout.program().lanes()) {
            for (Channel channel : lane.channels()) {
                sent += channel.kind() == Channel.Kind.SLOTS ? lane.bytes() : 0;
            }
        }
        Network network = setup.costs().network();
        double crossed = 0;
        for (int arc = 0; arc < network.arcs(); arc++) {
            crossed += network.from(arc) < network.ranks() ? simulation.bytes(arc) : 0;
        }
        assertThat(crossed).isEqualTo(layout.lowLatency() ? 2 * sent : sent, within(0.5));
        assertThat(sent).isEqualTo(14.0 * bytes, within(14.0 * 64));
    }

    @ParameterizedTest
    @ValueSource(strings = {"p3.16xlarge", "dgx-a100"})
    void moreBytesAreNeverFaster(String name) {
        Setup setup = Setup.of(name);
        for (AlgorithmChoice algorithm : List.of(AlgorithmChoice.PACKING, AlgorithmChoice.RING)) {
            double before = 0;
            for (long bytes = 1 << 10; bytes <= 1 << 28; bytes *= 4) {
                double us = setup.us(setup.plan(algorithm, bytes));
                assertThat(us).as("%s of %d bytes", algorithm, bytes).isGreaterThanOrEqualTo(before);
                before = us;
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"p3.16xlarge,PACKING", "dgx-a100,RING", "dgx-2,MULTI_TREE"})
    void longProgramsAreExtrapolated(String name, AlgorithmChoice algorithm) {
        Setup setup = Setup.of(name);
        PlannedSchedule planned = setup.plan(algorithm, 128 << 20);
        double all = setup.costs()
                .programSimulator(planned.links())
                .run(setup.layout(planned))
                .endUs();
        assertThat(setup.us(planned)).isBetween(0.96 * all, 1.04 * all);
    }

    @Test
    void aSimulatorThatHasPredictedOtherProgramsPredictsTheSame() {
        Setup setup = Setup.of("p3.16xlarge");
        for (int turn = 0; turn < 2; turn++) {
            for (AlgorithmChoice algorithm : List.of(AlgorithmChoice.PACKING, AlgorithmChoice.RING)) {
                for (Collective collective : List.of(Collective.ALL_REDUCE, Collective.ALL_GATHER)) {
                    // In lines, in slices of several lengths, and extrapolated.
                    for (long count = 400; count <= 8 << 20; count *= 7) {
                        PlannedSchedule planned = setup.planner.plan(
                                AlgorithmConfig.of(algorithm),
                                new CollectiveRequest(collective, -1, count, 4, true, Long.MAX_VALUE));
                        ProgramSimulator fresh = new ProgramSimulator(
                                preset("p3.16xlarge"), setup.costs.network(), planned.links(), setup.costs.profile());
                        assertThat(setup.us(planned))
                                .as("%s of %d elements by %s", collective, count, algorithm)
                                .isEqualTo(fresh.predictedUs(setup.layout(planned)));
                    }
                }
            }
        }
    }

    @Test
    void rangesHoldTheMiddle() {
        Machine machine = preset("p3.16xlarge");
        Profile profile = Profiles.of(machine);
        Setup setup = Setup.of("p3.16xlarge");
        for (long bytes : new long[] {8 << 10, 1 << 20, 64 << 20}) {
            PlannedSchedule planned = setup.plan(AlgorithmChoice.PACKING, bytes);
            double fastest = new SimulatedCosts(machine, profile.fastest(), Execution.PROGRAMS)
                    .predictedUs(planned.schedule(), planned.links());
            double slowest = new SimulatedCosts(machine, profile.slowest(), Execution.PROGRAMS)
                    .predictedUs(planned.schedule(), planned.links());
            assertThat(setup.us(planned)).isGreaterThan(fastest).isLessThan(slowest);
        }
    }

    /**
     * From the call to its end, launches by a thread for each GPU among it.
     *
     * @param ncclUs what nccl-tests published: hybridcube_8xV100-SXM2-16GB_allreduce.csv, abci_8xA100_allreduce.csv
     */
    @ParameterizedTest
    @CsvSource({"p3.16xlarge,49.1", "dgx-a100,26.4"})
    void eightKibibytesTakeHalfOfNcclsTime(String name, double ncclUs) {
        Setup setup = Setup.of(name);
        assertThat(setup.us(setup.best(8 << 10))).isLessThanOrEqualTo(ncclUs / 2);
        assertThat(setup.launchUs()).isEqualTo(6 + 7 * 0.3, EXACT);
    }

    @Test
    void largeCallsReachNineTenthsOfTheBoundOnP3() {
        Setup setup = Setup.of("p3.16xlarge");
        Profile profile = setup.costs().profile();
        long bytes = 256 << 20;
        double bound =
                AllReduceBound.of(Network.of(preset("p3.16xlarge"))).gbs().doubleValue();
        double links = profile.efficiency(Link.Kind.NVLINK) * profile.get(Constant.PROGRAM_STORE_FRACTION);
        double us = setup.us(setup.best(bytes));
        assertThat(bytes / us / 1e3).isBetween(0.9 * bound * links, bound * links);
    }

    @Test
    void programsRunWhereDevicesReachEachOther() {
        Setup setup = Setup.of("p3.16xlarge");
        assertThat(program(setup, AlgorithmChoice.PACKING)).isTrue();
        // GPU 0 has no NVLink to all others, and between sockets there is no peer access.
        assertThat(program(setup, AlgorithmChoice.STAR)).isFalse();
        assertThat(program(Setup.of("pcie-8"), AlgorithmChoice.STAR)).isFalse();
        assertThat(program(Setup.of("dgx-2"), AlgorithmChoice.STAR)).isTrue();
        Machine marked = NoPeerAccess.mark(PAIR, 0, 1);
        Schedule schedule = schedule(2, 64, copy(0, 1));
        assertThat(new ProgramSimulator(PAIR, allToAll(2, 10), List.of(), IDEAL).canRun(schedule))
                .isTrue();
        assertThat(new ProgramSimulator(marked, Network.of(marked), List.of(), IDEAL).canRun(schedule))
                .isFalse();
        SimulatedCosts chunks = new SimulatedCosts(PAIR, IDEAL);
        assertThat(chunks.program(schedule, List.of())).isEmpty();
        assertThat(chunks.dependsOnChunks(schedule, List.of())).isTrue();
    }

    private static boolean program(Setup setup, AlgorithmChoice algorithm) {
        PlannedSchedule planned = setup.plan(algorithm, 1 << 20);
        boolean program =
                setup.costs().program(planned.schedule(), planned.links()).isPresent();
        assertThat(setup.costs().dependsOnChunks(planned.schedule(), planned.links()))
                .isNotEqualTo(program);
        return program;
    }

    @Test
    void thePlannerChoosesByWhatRuns() {
        Machine machine = preset("dgx-a100");
        CollectiveRequest request = allReduce(8 << 20);
        Planner programs = Planner.of(machine, Config.defaults(), Platform.simulated(Execution.PROGRAMS));
        Planner given = Setup.of("dgx-a100").planner();
        AlgorithmConfig choice = programs.choose(request);
        assertThat(choice).isEqualTo(given.choose(request));
        assertThat(programs.cut(choice, request).cuts()).isFalse();
        assertThat(programs.predictedUs(choice, request)).isEqualTo(given.predictedUs(choice, request));
        Planner chunks = Planner.of(machine, Config.defaults());
        assertThat(chunks.cut(chunks.choose(request), request).cuts()).isTrue();
    }
}
