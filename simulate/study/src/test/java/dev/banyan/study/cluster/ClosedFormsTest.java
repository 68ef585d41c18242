package dev.banyan.study.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.banyan.study.training.Gradient;
import org.assertj.core.data.Percentage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Closed forms against the simulator's engine on the same links, and against figures by hand. */
class ClosedFormsTest {
    private static final HostCosts HOST = HostCosts.ASSUMED;

    private static double bytes(long elements) {
        return (double) elements * Gradient.ELEMENT_BYTES;
    }

    @ParameterizedTest
    @CsvSource({
        "16, 1, 1024",
        "16, 1, 1048576",
        "64, 4, 65536",
        "64, 4, 1048576",
        "48, 2, 480000",
        "128, 4, 1048576",
    })
    void theRingIsTheEngines(int machines, double oversubscription, long elements) {
        Fabric fabric = new Fabric(12.5, 1, 2, 16, oversubscription);
        double closed =
                new LeaderRing(machines, fabric, HOST).cost(bytes(elements)).us();
        double engine = new SimulatedFabric(machines, fabric, HOST).ringUs(elements);
        assertThat(closed).isCloseTo(engine, Percentage.withPercentage(1));
    }

    /** Leaves of 18 machines are filled unevenly by pairs of distances that are powers of two. */
    @ParameterizedTest
    @CsvSource({
        "16, 16, 1, 1024",
        "16, 16, 1, 1048576",
        "64, 16, 1, 65536",
        "64, 16, 4, 1048576",
        "64, 18, 4, 1048576",
        "128, 16, 4, 1048576",
        "256, 18, 2, 1048576",
    })
    void exchangesAreTheEngines(int machines, int leaf, double oversubscription, long elements) {
        Fabric fabric = new Fabric(12.5, 1, 2, leaf, oversubscription);
        SimulatedFabric engine = new SimulatedFabric(machines, fabric, HOST);
        Exchanges exchanges = new Exchanges(machines, fabric);
        assertThat(new HalvingDoubling(exchanges, fabric, HOST)
                        .cost(bytes(elements))
                        .us())
                .isCloseTo(engine.halvingUs(elements), Percentage.withPercentage(1));
        assertThat(new RecursiveDoubling(exchanges, fabric, HOST)
                        .cost(bytes(elements))
                        .us())
                .isCloseTo(engine.doublingUs(elements), Percentage.withPercentage(1));
    }

    @Test
    void oversubscriptionCountsWhatLeavesTheFullestLeaf() {
        Fabric fabric = new Fabric(10, 1, 2, 4, 2);
        Exchanges exchanges = new Exchanges(8, fabric);
        assertThat(exchanges.transferUs(0, 1e4)).isCloseTo(1, within(1e-9));
        assertThat(exchanges.transferUs(1, 1e4)).isCloseTo(1, within(1e-9));
        assertThat(exchanges.transferUs(2, 1e4)).isCloseTo(2, within(1e-9));
        // Machines 3 to 5 are in the fullest leaf of 3 machines: at distance 1 only machine 3 goes to another leaf, at
        // 2 all of them.
        Exchanges odd = new Exchanges(8, new Fabric(10, 1, 2, 3, 3));
        assertThat(odd.transferUs(0, 1e4)).isCloseTo(1, within(1e-9));
        assertThat(odd.transferUs(1, 1e4)).isCloseTo(3, within(1e-9));
    }

    @Test
    void machinesBeyondAPowerOfTwoLeaveTheirDataWithAnother() {
        Fabric fabric = new Fabric(10, 1, 2, 64, 1);
        HostCosts host = new HostCosts(10, 12, 20, 4, 4);
        // 1 us for all data on a NIC, as for a sum. 4 machines: 2 steps; a fifth machine: to and fro, one sum more.
        RecursiveDoubling four = new RecursiveDoubling(new Exchanges(4, fabric), fabric, host);
        RecursiveDoubling five = new RecursiveDoubling(new Exchanges(5, fabric), fabric, host);
        assertThat(four.cost(1e4).us()).isCloseTo(2 * (2 + 1 + 1), within(1e-9));
        assertThat(five.cost(1e4).us()).isCloseTo(2 * (2 + 1 + 1) + (2 + 1 + 1) + (2 + 1), within(1e-9));
        HalvingDoubling halving = new HalvingDoubling(new Exchanges(4, fabric), fabric, host);
        assertThat(halving.cost(1e4).us()).isCloseTo(4 * 2 + 2 * 0.75 + 0.75, within(1e-9));
        HalvingDoubling odd = new HalvingDoubling(new Exchanges(5, fabric), fabric, host);
        assertThat(odd.cost(1e4).us()).isCloseTo(4 * 2 + 2 * 0.75 + 0.75 + 3 * 2 + 2 * 1 + 0.5, within(1e-9));
    }

    @Test
    void openMpiTakesTheRingFromTenThousandBytesOn() {
        Cluster cluster = Clusters.of(16);
        KeyCosts costs = new KeyCosts(cluster, AllReduceRule.OPEN_MPI_4_0);
        assertThat(costs.algorithm(2499)).isEqualTo("recursive doubling");
        assertThat(costs.algorithm(2500)).isEqualTo("ring");
        KeyCosts many = new KeyCosts(Clusters.of(4096), AllReduceRule.OPEN_MPI_4_0);
        assertThat(many.algorithm(4096)).isEqualTo("recursive doubling");
        assertThat(many.algorithm(4097)).isEqualTo("ring");
        for (long elements = 1; elements < 1 << 24; elements *= 7) {
            assertThat(new KeyCosts(cluster, AllReduceRule.LEAST_TIME).us(elements))
                    .as("%d elements", elements)
                    .isLessThanOrEqualTo(costs.us(elements));
        }
    }
}
