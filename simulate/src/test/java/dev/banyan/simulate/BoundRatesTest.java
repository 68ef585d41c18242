package dev.banyan.simulate;

import static dev.banyan.simulate.Samples.allReduce;
import static dev.banyan.simulate.Samples.preset;
import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.schedule.internal.algorithm.ChunkRule;
import dev.banyan.schedule.internal.algorithm.PackedAlgorithm;
import dev.banyan.schedule.type.Collective;
import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.Direction;
import dev.banyan.trees.packing.ForestCost;
import dev.banyan.trees.packing.TreePacking;
import org.apache.commons.numbers.fraction.BigFraction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Packed trees against the bound of the machine, and chunks as long as the rule says against the best length. */
class BoundRatesTest {
    private static final double CHUNK_OVERHEAD_US = 2.2;
    private static final long GIB = 1L << 30;
    /** Short beside 1 GiB, and long beside what a launch takes. */
    private static final long CHUNK_OF_GIB = 512 << 10;

    private record Packed(Machine machine, PackedAlgorithm algorithm, TreePacking packing) {
        private static Packed on(String name) {
            Machine machine = preset(name);
            PackedAlgorithm algorithm = new PackedAlgorithm(Network.of(machine));
            return new Packed(machine, algorithm, algorithm.packing(Collective.ALL_REDUCE, -1));
        }

        private long ruled(long bytes) {
            return ChunkRule.chunkBytes(ForestCost.of(packing, Direction.UP_AND_DOWN), bytes, CHUNK_OVERHEAD_US);
        }

        private double us(long bytes, long chunkBytes, Profile profile) {
            return new Simulator(packing.network(), packing.links(), profile)
                    .run(allReduce(algorithm, bytes, chunkBytes))
                    .endUs();
        }

        /** Part of the bound, at the links' efficiency, that 1 GiB reaches. */
        private double ofBound(Link.Kind kind, Profile profile) {
            double bound = packing.bound().gbs().doubleValue() * profile.efficiency(kind);
            return GIB / us(GIB, CHUNK_OF_GIB, profile) / 1e3 / bound;
        }
    }

    @ParameterizedTest
    @CsvSource({
        "p3.8xlarge, NVLINK",
        "p3.16xlarge, NVLINK",
        "dgx-1p, NVLINK",
        "dgx-2, NVLINK",
        "dgx-a100, NVLINK",
        "dgx-h100, NVLINK",
        "mi250x8, XGMI",
        "pcie-4, PCIE",
        "p2.16xlarge, PCIE"
    })
    void aPackingThatReachesTheBoundDoesSoInSimulation(String name, Link.Kind kind) {
        Packed packed = Packed.on(name);
        assertThat(packed.packing.ratio()).isEqualTo(BigFraction.ONE);
        assertThat(packed.ofBound(kind, Profiles.of(packed.machine))).isBetween(0.97, 1.0);
    }

    /**
     * Half of what some ports of this machine send or receive goes between the sockets, where links are narrower
     * than the ports: one such transfer alone leaves a part of its ports idle, and two share them evenly, not in the
     * proportions of the trees. Guards what is reached; see docs/performance.md.
     */
    @Test
    void narrowLinksBetweenSocketsFallShortOfTheBound() {
        Packed packed = Packed.on("pcie-8");
        assertThat(packed.packing.ratio()).isEqualTo(BigFraction.ONE);
        assertThat(packed.ofBound(Link.Kind.PCIE, Profiles.of(packed.machine))).isBetween(0.9, 1.0);
    }

    @ParameterizedTest
    @CsvSource({
        "p3.16xlarge, 65536", "p3.16xlarge, 1048576", "p3.16xlarge, 16777216", "p3.16xlarge, 268435456",
        "dgx-a100, 65536", "dgx-a100, 1048576", "dgx-a100, 16777216", "dgx-a100, 268435456"
    })
    void theRuleIsNearTheBestPowerOfTwo(String name, long bytes) {
        Packed packed = Packed.on(name);
        Profile profile = Profiles.of(packed.machine);
        double best = Double.POSITIVE_INFINITY;
        for (long chunk = 4 << 10; chunk <= Math.min(bytes, 4 << 20); chunk *= 2) {
            // The many steps of shorter ones would only take the test's time.
            if (bytes / chunk <= 1 << 13) {
                best = Math.min(best, packed.us(bytes, chunk, profile));
            }
        }
        assertThat(packed.us(bytes, packed.ruled(bytes), profile) / best).isLessThan(1.1);
    }
}
