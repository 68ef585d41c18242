package dev.banyan.gpuday;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.cuda.emulator.CudaEmulator;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The measurements on the emulated driver: they do nothing that a GPU would punish, and leave nothing behind. */
class DayPartTest {
    private static final Duration LONG = Duration.ofDays(1);

    private static @Nullable CudaEmulator loaded;

    private final Recording recording = new Recording();

    private static final class Recording implements Recorder {
        final List<Figure> figures = new ArrayList<>();
        final List<String> facts = new ArrayList<>();
        final List<String> notes = new ArrayList<>();

        @Override
        public void figure(Figure figure) {
            figures.add(figure);
        }

        @Override
        public void fact(String name, Map<String, String> of, String value) {
            facts.add(name + " " + of + " " + value);
        }

        @Override
        public void note(String sentence) {
            notes.add(sentence);
        }
    }

    @BeforeAll
    static void load() {
        loaded = CudaEmulator.load();
    }

    private static CudaEmulator emulator() {
        return Objects.requireNonNull(loaded);
    }

    @BeforeEach
    void reset() {
        emulator().reset();
    }

    @AfterEach
    void nothingIsLeft() {
        assertThat(emulator().problems()).isEmpty();
        for (String kind :
                List.of("contexts", "streams", "events", "modules", "graphs", "execs", "allocations", "multicasts")) {
            assertThat(emulator().count(kind)).as(kind).isZero();
        }
        assertThat(emulator().count("host allocations")).isZero();
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "MULTICAST")
    void threeGpusAreMeasured(DayPart measurement) {
        emulator().tell("devices 3", "peer 1 2 none", "staging allowed");
        measurement.run(recording, new Effort(true, LONG));
        assertThat(recording.figures.size() + recording.facts.size()).isPositive();
        assertThat(recording.figures).allSatisfy(figure -> {
            assertThat(figure.samples()).isEqualTo(3);
            assertThat(figure.median()).isBetween(figure.least(), figure.greatest());
        });
    }

    @ParameterizedTest
    @EnumSource(
            mode = EnumSource.Mode.EXCLUDE,
            names = {"PEER_BANDWIDTH", "MULTICAST"})
    void oneGpuIsMeasured(DayPart measurement) {
        emulator().tell("devices 1");
        measurement.run(recording, new Effort(true, LONG));
        assertThat(recording.figures.size() + recording.facts.size()).isPositive();
    }

    @Test
    void oneGpuHasNoPairs() {
        emulator().tell("devices 1");
        assertThatThrownBy(() -> DayPart.PEER_BANDWIDTH.run(recording, new Effort(true, LONG)))
                .isInstanceOf(SkippedException.class)
                .hasMessage("there is one GPU, and so no pair");
    }

    @Test
    void instructionsByMulticastAddressesAreChecked() {
        emulator().tell("devices 1", "capability all 9 0", "multicast on");
        DayPart.MULTICAST.run(recording, new Effort(true, LONG));
        assertThat(recording.facts).hasSize(11).allMatch(fact -> fact.endsWith(" right"));
    }

    @Test
    void aDriverMayRefuseMulticastAddresses() {
        emulator().tell("devices 1", "capability all 9 0", "multicast unready");
        assertThatThrownBy(() -> DayPart.MULTICAST.run(recording, new Effort(true, LONG)))
                .isInstanceOf(SkippedException.class)
                .hasMessageMatching("the driver makes no multicast addresses of one GPU: cuMulticastCreate.*");
    }

    @Test
    void anOldGpuIsNamed() {
        emulator().tell("devices 2", "capability 1 6 1");
        assertThatThrownBy(() -> DayPart.FLAGS.run(recording, new Effort(true, LONG)))
                .isInstanceOf(SkippedException.class)
                .hasMessageStartingWith("GPU1 is of sm_61");
    }

    @Test
    void littleMemoryIsEnough() {
        emulator().tell("devices 1", "memory 0 3000000");
        DayPart.REDUCTIONS.run(recording, new Effort(true, LONG));
        assertThat(recording.figures).hasSize(14);
        emulator().tell("memory 0 20000");
        assertThatThrownBy(() -> DayPart.REDUCTIONS.run(recording, new Effort(true, LONG)))
                .isInstanceOf(SkippedException.class)
                .hasMessageContaining("bytes of free memory; end other programs that use it");
    }

    @Test
    void bytesThatArriveWrongFailInTheEnd() {
        emulator().tell("devices 2", "corrupt 0 1");
        assertThatThrownBy(() -> DayPart.PEER_BANDWIDTH.run(recording, new Effort(true, LONG)))
                .isInstanceOf(MeasurementException.class)
                .hasMessageStartingWith("bytes arrive wrong from GPU0 to GPU1 by copy engines;"
                        + " GPU0 to GPU1 by loads of the target's kernel;"
                        + " GPU0 to GPU1 by stores of the source's kernel; see");
        assertThat(recording.figures)
                .extracting(figure -> figure.of().get("from"))
                .containsExactly("1", "1", "1");
    }

    @Test
    void nothingIsBegunWhenTheTimeIsOver() {
        emulator().tell("devices 2");
        DayPart.GRAPH_LAUNCH.run(recording, new Effort(true, Duration.ZERO));
        assertThat(recording.figures).isEmpty();
        assertThat(recording.notes)
                .containsExactly("time was over before graphs of 1 nodes, independent nodes on one GPU");
    }

    @Test
    void flagsAreReadInThreeWaysAndSlicesInTwo() {
        emulator().tell("devices 2");
        DayPart.FLAGS.run(recording, new Effort(true, LONG));
        assertThat(recording.figures)
                .extracting(figure -> figure.name() + ", " + figure.of().get("access"))
                .containsExactly(
                        "flag round trip, volatile",
                        "flag round trip, volatile",
                        "flag round trip, relaxed, fence.acq_rel.sys",
                        "flag round trip, relaxed, fence.acq_rel.sys",
                        "flag round trip, acquire, release",
                        "flag round trip, acquire, release",
                        "slice, relaxed, fence.acq_rel.sys",
                        "slice, relaxed, fence.acq_rel.sys",
                        "slice, acquire, release",
                        "slice, acquire, release");
    }

    @Test
    void endsOfKernelsAreSeenByWordsBeforeEvents() {
        emulator().tell("devices 2");
        DayPart.KERNEL_END.run(recording, new Effort(true, LONG));
        assertThat(recording.figures)
                .extracting(figure -> figure.name() + ", " + figure.of().get("GPUs"))
                .containsExactly(
                        "kernel end, by words, 1",
                        "kernel end, by words and events, 1",
                        "kernel end, by words, 2",
                        "kernel end, by words and events, 2");
    }
}
