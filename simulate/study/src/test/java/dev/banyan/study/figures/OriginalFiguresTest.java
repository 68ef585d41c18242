package dev.banyan.study.figures;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.simulate.Profile;
import dev.banyan.simulate.Profiles;
import dev.banyan.topology.Machine;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The statements of the original design about its figures hold for ours. */
class OriginalFiguresTest {
    private static final Machine MACHINE = Machine.preset("p3.16xlarge");
    private static final Profile PROFILE = Profiles.of(MACHINE);
    private static final InFlight IN_FLIGHT = InFlight.of(MACHINE, PROFILE, () -> {});
    private static final long SMALL = 4 << 10;
    private static final long LARGE = 64 << 20;

    private static List<String> original(int inFlight, long bytes) {
        return IN_FLIGHT.order(inFlight, bytes).stream()
                .filter(store -> !store.equals(InFlight.PACKED))
                .toList();
    }

    @Test
    void aloneNcclIsTheBest() {
        assertThat(original(1, SMALL)).first().isEqualTo(InFlight.NCCL);
        assertThat(original(1, LARGE)).first().isEqualTo(InFlight.NCCL);
        assertThat(original(1, SMALL)).containsSubsequence(InFlight.SINGLE, InFlight.MULTI);
        assertThat(original(1, LARGE)).containsSubsequence(InFlight.MULTI, InFlight.SINGLE);
        assertThat(original(1, LARGE)).last().isEqualTo(InFlight.SERVER);
    }

    @Test
    void manySmallOnesAreFasterOverTheServerThanOverNccl() {
        assertThat(original(150, SMALL))
                .containsExactly(InFlight.SERVER, InFlight.SINGLE, InFlight.NCCL, InFlight.MULTI);
    }

    @Test
    void manyLargeOnesAreSlowestOverTheServer() {
        assertThat(original(150, LARGE))
                .containsExactly(InFlight.MULTI, InFlight.NCCL, InFlight.SINGLE, InFlight.SERVER);
    }

    @Test
    void curvesAreFlatThenSteep() {
        for (String store : InFlight.STORES) {
            assertThat(IN_FLIGHT.us(store, 1, 2 * SMALL) / IN_FLIGHT.us(store, 1, SMALL))
                    .isLessThan(1.1);
            assertThat(IN_FLIGHT.us(store, 1, LARGE) / IN_FLIGHT.us(store, 1, LARGE / 2))
                    .isBetween(1.4, 2.1);
        }
    }

    @Test
    void treesCrossBetweenOneAndTenMillionFloats() {
        for (int inFlight : InFlight.COUNTS) {
            assertThat(IN_FLIGHT.crossover(inFlight).orElseThrow()).isBetween(1_000_000L, 10_000_000L);
        }
    }

    @Test
    void bestArrayBoundIsBetweenOneAndTenMillionFloats() {
        Throughput vgg = Throughput.all().stream()
                .filter(each -> each.model().equals("vgg-16") && each.batch() == 4)
                .findFirst()
                .orElseThrow();
        ArrayBound bounds = ArrayBound.of(MACHINE, PROFILE, Speedups.step(vgg), () -> {});
        assertThat(bounds.best().bound()).isBetween(1_000_000L, 10_000_000L);
        ArrayBound.Row none = bounds.rows().getLast();
        assertThat(none.stepUs()).isGreaterThan(2 * bounds.best().stepUs());
        assertThat(bounds.rows().getFirst().communicationUs())
                .isGreaterThan(bounds.best().communicationUs());
    }

    @Test
    void stepsAreNoShorterThanWhatTheyCompute() {
        Speedups speedups = Speedups.of(MACHINE, PROFILE, () -> {});
        assertThat(speedups.models()).containsExactly("resnet-50", "vgg-16", "inception-v3", "alexnet");
        for (Speedups.Row row : speedups.rows()) {
            List<Double> overlap = row.overlap().all();
            List<Double> noOverlap = row.noOverlap().all();
            for (int store = 0; store < overlap.size(); store++) {
                assertThat(overlap.get(store)).isBetween(row.computeUs(), noOverlap.get(store));
            }
        }
        // Models with few large keys gain most over the parameter server, as in the original.
        assertThat(speedups.peak(
                        "vgg-16",
                        row -> row.noOverlap().serverUs() / row.noOverlap().treesUs()))
                .isGreaterThan(3);
        assertThat(speedups.peak(
                        "alexnet",
                        row -> row.noOverlap().serverUs() / row.noOverlap().treesUs()))
                .isGreaterThan(3);
        assertThat(speedups.peak(
                        "resnet-50",
                        row -> row.noOverlap().serverUs() / row.noOverlap().treesUs()))
                .isBetween(1.0, 2.0);
    }
}
