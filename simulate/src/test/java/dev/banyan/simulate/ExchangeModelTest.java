package dev.banyan.simulate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.internal.algorithm.CollectiveRequest;
import dev.banyan.schedule.internal.algorithm.PackedAlgorithm;
import dev.banyan.schedule.internal.algorithm.RingAlgorithm;
import dev.banyan.schedule.plan.Execution;
import dev.banyan.schedule.type.Collective;
import dev.banyan.simulate.internal.nccl.NcclRings;
import dev.banyan.simulate.internal.nccl.Transport;
import dev.banyan.topology.Machine;
import dev.banyan.trees.network.Network;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ExchangeModelTest {
    private static ProgramSimulator simulator(Machine machine, Profile profile) {
        return new ProgramSimulator(machine, network(machine), List.of(), profile);
    }

    private static Network network(Machine machine) {
        return Network.ofAllLinks(machine, IntStream.range(0, machine.size()).toArray());
    }

    private static Schedule allReduce(Machine machine, long bytes) {
        return new PackedAlgorithm(network(machine))
                .schedule(new CollectiveRequest(Collective.ALL_REDUCE, -1, bytes / 4, 4, false, 1 << 20));
    }

    /** Each of 8 devices sends and receives 7/8 of the data twice. */
    @Test
    void linksAndBarriersCount() {
        Machine machine = Machine.preset("dgx-h100");
        Profile profile = Samples.IDEAL
                .with(Constant.EXCHANGE_LINK_FRACTION, 0.5, "test")
                .with(Constant.PROGRAM_LAUNCH_US, 3, "test")
                .with(Constant.PROGRAM_LAUNCH_STEP_US, 1, "test")
                .with(Constant.PROGRAM_FLAG_US, 2, "test")
                .with(Constant.PROGRAM_SLICE_US, 0.25, "test")
                .with(Constant.PROGRAM_END_US, 1.5, "test");
        double us = simulator(machine, profile)
                .exchangeUs(allReduce(machine, 1 << 24), CallBuffers.ALLOCATED)
                .orElseThrow();
        double linksUs = 1.75 * (1 << 24) / (450e3 * 0.5);
        assertThat(us).isCloseTo(3 + 7 + 2 * 2.25 + 2 + linksUs + 1.5, within(1e-6));
    }

    /**
     * 16 MiB are copied in and out, loads and stores counted, by 48 blocks. Slices of 32 KiB are places of 8 inputs and
     * 8 outputs in 512 KiB, so that a share of 2 MiB takes two rounds.
     */
    @Test
    void otherBuffersAreCopiedThroughAStage() {
        Machine machine = Machine.preset("dgx-h100");
        Profile profile = Samples.IDEAL
                .with(Constant.EXCHANGE_LINK_FRACTION, 1, "test")
                .with(Constant.PROGRAM_FLAG_US, 2, "test")
                .with(Constant.PROGRAM_SLICE_US, 0.25, "test")
                .with(Constant.PROGRAM_BLOCK_GBS, 40, "test");
        ProgramSimulator simulator = simulator(machine, profile);
        Schedule schedule = allReduce(machine, 1 << 24);
        double allocatedUs =
                simulator.exchangeUs(schedule, CallBuffers.ALLOCATED).orElseThrow();
        assertThat(simulator.exchangeUs(schedule, CallBuffers.ANY).orElseThrow())
                .isCloseTo(allocatedUs + 4 * (1 << 24) / (48 * 40e3) + 2 * 2.25, within(1e-6));
        assertThat(simulator.sumUs(schedule, CallBuffers.ANY).orElseThrow())
                .isGreaterThan(simulator.sumUs(schedule, CallBuffers.ALLOCATED).orElseThrow());
    }

    /** Each share crosses each link once to be added up and once to be copied: 9/8 of the data a way. */
    @Test
    void aSwitchThatReducesHalvesTheLoad() {
        Profile profile = Samples.IDEAL
                .with(Constant.EXCHANGE_LINK_FRACTION, 1, "test")
                .with(Constant.EXCHANGE_MULTICAST_FRACTION, 0.5, "test");
        Machine machine = Machine.preset("dgx-h100");
        double us = simulator(machine, profile)
                .exchangeUs(allReduce(machine, 1 << 30), CallBuffers.ALLOCATED)
                .orElseThrow();
        assertThat(us).isCloseTo(1.125 * (1 << 30) / (450e3 * 0.5), within(1e-3));
        Machine older = Machine.preset("dgx-a100");
        assertThat(simulator(older, profile).exchangeUs(allReduce(older, 1 << 30), CallBuffers.ALLOCATED))
                .hasValueCloseTo(1.75 * (1 << 30) / 300e3, within(1e-3));
    }

    /** The busiest link moves all that it can while data moves, and no link moves more. */
    @ParameterizedTest
    @CsvSource({"dgx-h100, 450", "dgx-a100, 300"})
    void playedTransfersFillTheLinks(String preset, double gbs) {
        Profile profile = Samples.IDEAL
                .with(Constant.EXCHANGE_LINK_FRACTION, 0.8, "test")
                .with(Constant.EXCHANGE_MULTICAST_FRACTION, 0.8, "test")
                .with(Constant.PROGRAM_FLAG_US, 2, "test");
        Machine machine = Machine.preset(preset);
        ProgramSimulator simulator = simulator(machine, profile);
        Schedule schedule = allReduce(machine, 1 << 24);
        Log log = new Log();
        simulator.playExchange(schedule, log);
        assertThat(log.reductions).isEmpty();
        double startUs = log.transfers.stream()
                .mapToDouble(SimulationListener.Transfer::startUs)
                .min()
                .orElseThrow();
        double endUs = log.transfers.stream()
                .mapToDouble(SimulationListener.Transfer::endUs)
                .max()
                .orElseThrow();
        assertThat(endUs)
                .isLessThan(
                        simulator.exchangeUs(schedule, CallBuffers.ALLOCATED).orElseThrow());
        Map<Integer, Double> bytes = new HashMap<>();
        log.transfers.forEach(each -> each.arcs().forEach(arc -> bytes.merge(arc, each.bytes(), Double::sum)));
        assertThat(bytes).hasSize(16);
        assertThat(Collections.max(bytes.values()) / (endUs - startUs) / 1e3).isCloseTo(0.8 * gbs, within(1e-6));
    }

    @Test
    void slowBlocksCount() {
        Machine machine = Machine.preset("dgx-h100");
        Profile profile = Samples.IDEAL
                .with(Constant.EXCHANGE_LINK_FRACTION, 1, "test")
                .with(Constant.PROGRAM_BLOCK_GBS, 2, "test");
        double us = simulator(machine, profile)
                .exchangeUs(allReduce(machine, 1 << 20), CallBuffers.ALLOCATED)
                .orElseThrow();
        // 128 KiB of each rank, of which a block takes 8; all are loaded and stored 8 times.
        assertThat(us).isCloseTo(16 * (1 << 17) / (16 * 2e3), within(1e-6));
    }

    @Test
    void otherLinksAndSchedulesAreNoExchanges() {
        Machine pcie = Machine.preset("pcie-8");
        Profile profile = Samples.IDEAL.with(Constant.EXCHANGE_LINK_FRACTION, 1, "test");
        assertThat(simulator(pcie, profile).exchangeUs(allReduce(pcie, 1 << 20), CallBuffers.ALLOCATED))
                .isEmpty();
        Machine machine = Machine.preset("dgx-h100");
        Schedule ring = new RingAlgorithm(IntStream.range(0, 8).toArray())
                .schedule(new CollectiveRequest(Collective.ALL_REDUCE, -1, 1 << 18, 4, false, 1 << 20));
        assertThat(simulator(machine, profile).exchangeUs(ring, CallBuffers.ALLOCATED))
                .isEmpty();
        assertThat(simulator(machine, Samples.IDEAL).exchangeUs(allReduce(machine, 1 << 20), CallBuffers.ALLOCATED))
                .isEmpty();
    }

    /** By constants that nobody measured: no longer than NCCL's model says, or a twentieth more. */
    @ParameterizedTest
    @CsvSource({"dgx-h100, 30", "dgx-a100, 25"})
    void behindNvSwitchesItTakesNoLongerThanNccl(String name, int log) {
        Machine machine = Machine.preset(name);
        Profile profile = Profiles.of(machine);
        SimulatedCosts costs = new SimulatedCosts(machine, profile, Execution.PROGRAMS);
        NcclRings nccl = NcclRings.of(machine, profile, Transport.PEER);
        for (long bytes = 1 << 17; bytes <= 1L << log; bytes *= 2) {
            assertThat(costs.predictedUs(allReduce(machine, bytes), List.of()))
                    .as("%d bytes", bytes)
                    .isLessThan(
                            1.05 * nccl.time(Collective.ALL_REDUCE, bytes, 1).us());
        }
    }
}
