package dev.banyan.study.measured;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.banyan.schedule.type.Collective;
import dev.banyan.simulate.Constant;
import dev.banyan.simulate.Profile;
import dev.banyan.simulate.Profiles;
import dev.banyan.simulate.RangedCosts.TimeRange;
import dev.banyan.simulate.internal.nccl.NcclRings;
import dev.banyan.simulate.internal.nccl.Protocol;
import dev.banyan.study.measured.sweep.NcclSweepReader;
import dev.banyan.study.workload.PredictedCall;
import dev.banyan.topology.Machine;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class NcclErrorsTest {
    private static Profile profile(String name) {
        return Profiles.find(name).orElseThrow();
    }

    /** The stored figures have seven digits. */
    @Test
    void theStoredErrorsAreThoseOfThePublishedSweeps() {
        record Key(String profile, Collective collective) {}
        Map<Key, List<NcclErrors.Sweep>> classes = new TreeMap<>(Comparator.comparing(Key::profile)
                .thenComparing(key -> key.collective().label()));
        for (PublishedSweep sweep : PublishedSweeps.all()) {
            Path file = SharedSweeps.path(sweep.file());
            assumeTrue(Files.exists(file), () -> file + " is not there; it is in the folder /shared/");
            Profile profile = Profiles.of(sweep.machine());
            NcclRings rings = NcclRings.of(sweep.machine(), profile, sweep.transport());
            Matcher version = Pattern.compile("^NCCL ([0-9.]+[0-9])").matcher(sweep.remark());
            classes.computeIfAbsent(new Key(profile.name(), sweep.collective()), _ -> new ArrayList<>())
                    .add(new NcclErrors.Sweep(
                            SweepComparison.of(
                                    NcclSweepReader.read(file).getFirst(),
                                    rings,
                                    sweep.collective(),
                                    sweep.devicesPerProcess()),
                            sweep.seen().isPresent(),
                            sweep.machine().size(),
                            version.find() ? version.group(1) : NcclErrors.UNSTATED));
        }
        List<NcclErrors> computed = new ArrayList<>();
        classes.forEach((key, sweeps) -> {
            Map<Integer, List<NcclErrors.Sweep>> byDevices = sweeps.stream()
                    .collect(Collectors.groupingBy(NcclErrors.Sweep::gpus, TreeMap::new, Collectors.toList()));
            List<List<NcclErrors.Sweep>> parts = new ArrayList<>(List.of(sweeps));
            if (byDevices.size() > 1) {
                parts.addAll(byDevices.values());
            }
            parts.forEach(part -> computed.add(NcclErrors.of(key.profile(), key.collective(), part)));
        });
        assertThat(NcclErrors.all())
                .as("computed: %s", computed)
                .usingRecursiveComparison()
                .withComparatorForType(
                        (one, other) -> Math.abs(one - other) < 1e-7 ? 0 : Double.compare(one, other), Double.class)
                .isEqualTo(computed);
    }

    @Test
    void onlyTheBuiltInProfileHasErrors() {
        Profile v100 = profile("v100-nvlink");
        NcclErrors errors = NcclErrors.of(v100, Collective.ALL_REDUCE, 8).orElseThrow();
        assertThat(errors.large().median()).isLessThan(0.1);
        assertThat(NcclErrors.sentence(v100, Collective.ALL_REDUCE, 8))
                .matches("Its median error against 10 rows of 2 published sweeps of all_reduce on 8 GPUs \\(NCCL 2.4"
                        + " in 9 rows, 2.21 in 1 row\\) is [0-9.]+% of the measured time \\(worst [0-9.]+%: a"
                        + " factor of 1/\\(1 - 0\\.[0-9]+\\) = 1\\.[0-9]+ either way\\) from 512 KiB on, unknown"
                        + " below, where too few rows count \\(not those in which one process took longer to launch"
                        + " on all GPUs than the call took\\); 9 of these rows gave its constants");
        assertThat(NcclErrors.of(v100.with(Constant.NCCL_LL_BASE_US, 1, "mine"), Collective.ALL_REDUCE, 8))
                .isEmpty();
        assertThat(NcclErrors.sentence(profile("gb200-nvl"), Collective.ALL_REDUCE, 4))
                .startsWith("Its constants were fitted to Azure's table of four GB200");
        assertThat(NcclErrors.sentence(profile("mi250x-xgmi"), Collective.ALL_REDUCE, 16))
                .isEqualTo("No published sweep of all_reduce with this profile says how far it is off");
    }

    @Test
    void sweepsOfAsManyDevicesComeBeforeAll() {
        assertThat(NcclErrors.sentence(profile("pcie"), Collective.ALL_REDUCE, 2))
                .contains(" of all_reduce on 2 GPUs ");
        assertThat(NcclErrors.sentence(profile("pcie"), Collective.ALL_REDUCE, 3))
                .contains(" on 2, 4, 8 GPUs ");
    }

    /** All small rows of V100 are of one process, whose launches hide what a process for each GPU would take. */
    @Test
    void rowsThatLaunchesHoldUpGiveNoRange() {
        Machine machine = Machine.preset("p3.16xlarge");
        SimulatedNccl nccl = SimulatedNccl.compared(machine, Profiles.of(machine));
        assertThat(nccl.range(Collective.ALL_REDUCE, 32 << 10)).isEmpty();
        assertThat(nccl.range(Collective.ALL_REDUCE, 1 << 20)).isPresent();
    }

    /** The sweep of B200 is one of all_gather, and those of V100 have rings of NVLink alone. */
    @Test
    void noRangeIsTakenFromOtherCollectivesOrOtherLinks() {
        Machine b200 = Machine.preset("dgx-b200");
        SimulatedNccl other = SimulatedNccl.compared(b200, Profiles.of(b200));
        assertThat(other.range(Collective.ALL_REDUCE, 1 << 30)).isEmpty();
        assertThat(other.range(Collective.ALL_GATHER, 1 << 30)).isPresent();
        Machine some = Machine.preset("p3.16xlarge").subset(0, 1, 2, 4);
        SimulatedNccl across = SimulatedNccl.compared(some, Profiles.of(some));
        assertThat(across.range(Collective.ALL_REDUCE, 1 << 30)).isEmpty();
        assertThat(across.remark(Collective.ALL_REDUCE))
                .contains("over NVLinks and through the host's memory, as it did in none of the sweeps");
        Machine h100 = Machine.preset("dgx-h100");
        SimulatedNccl switched = SimulatedNccl.compared(h100, Profiles.of(h100));
        assertThat(switched.range(Collective.ALL_GATHER, 1 << 20)).isEmpty();
        assertThat(switched.range(Collective.ALL_GATHER, 1 << 30)).isPresent();
        Machine pcie = Machine.preset("pcie-8");
        assertThat(SimulatedNccl.compared(pcie, Profiles.of(pcie)).range(Collective.ALL_REDUCE, 1 << 30))
                .isEmpty();
    }

    @Test
    void smallAndLargeRowsAreApart() {
        NcclErrors errors = NcclErrors.of(
                "x",
                Collective.ALL_REDUCE,
                List.of(sweep(
                        row(1, 1.5),
                        row(2, 1.5),
                        row(4, 1.5),
                        row(8, 1.5),
                        row(1 << 16, 0.9),
                        row(1 << 17, 0.9),
                        row(1 << 18, 0.9),
                        row(1 << 19, 0.9))));
        assertThat(errors.large())
                .isEqualTo(new NcclErrors.Errors(
                        4, 4, 1 << 16, errors.large().median(), errors.large().worst()));
        assertThat(errors.large().median()).isEqualTo(0.1, within(1e-12));
        assertThat(errors.small()).isEqualTo(new NcclErrors.Errors(4, 4, 1, 0.5, 0.5));
    }

    @Test
    void fewRowsSayNothingOfTheWorst() {
        NcclErrors.Sweep three = sweep(row(1, 1.5), row(2, 1.5), row(4, 1.5));
        NcclErrors errors = NcclErrors.of("x", Collective.ALL_REDUCE, List.of(three));
        assertThat(errors.small()).isEqualTo(new NcclErrors.Errors(0, 0, 0, 0, 0));
    }

    /** Bounds in GB/s algbw over NVLink, on dgx-h100 with reduction in switches. */
    @ParameterizedTest
    @CsvSource({"dgx-a100, 171.429", "dgx-h100, 400", "p3.16xlarge, 85.715"})
    void noRangeIsAboveTheBoundOfTheLinks(String preset, double gbs) {
        Machine machine = Machine.preset(preset);
        SimulatedNccl nccl = SimulatedNccl.compared(machine, Profiles.of(machine));
        for (long bytes = 512 << 10; bytes <= 1 << 30; bytes *= 2) {
            PredictedCall call = nccl.call(Collective.ALL_REDUCE, bytes);
            TimeRange range = Objects.requireNonNull(call.range());
            assertThat(bytes / range.leastUs() / 1e3).isLessThanOrEqualTo(gbs);
            assertThat(call.us()).isBetween(range.leastUs(), range.mostUs());
        }
    }

    private static NcclErrors.Sweep sweep(SweepComparison.Row... rows) {
        return new NcclErrors.Sweep(new SweepComparison(List.of(rows)), false, 4, NcclErrors.UNSTATED);
    }

    private static SweepComparison.Row row(long bytes, double us) {
        return new SweepComparison.Row(bytes, 1, new NcclRings.Timing(us, Protocol.SIMPLE, false));
    }
}
