package dev.banyan.study.measured;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import dev.banyan.schedule.type.Collective;
import dev.banyan.simulate.Profile;
import dev.banyan.simulate.Profiles;
import dev.banyan.simulate.RangedCosts.TimeRange;
import dev.banyan.study.text.ByteSize;
import dev.banyan.study.text.Numbers;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The errors of simulated NCCL calls against published sweeps of one collective on one class of machines: all of them,
 * and, where they differ in the number of devices, those of each number. They are those of {@code banyan validate},
 * without rows in which one process took longer to launch on its devices than the calls do, as predictions are those of
 * a process for each device. The figures are part of the library, the sweeps are not. Immutable.
 *
 * @param profile name of the built-in profile of the class
 * @param collective as nccl-tests name it
 * @param sweeps number of sweeps
 * @param gpus how many devices they have, each number once, ascending
 * @param versions how many of the rows are of each version of NCCL, or of an {@link #UNSTATED} one
 * @param large errors of the rows of {@value #LARGE} bytes and more
 * @param small errors of the smaller ones
 */
public record NcclErrors(
        String profile,
        String collective,
        int sweeps,
        List<Integer> gpus,
        Map<String, Integer> versions,
        Errors large,
        Errors small) {
    static final String UNSTATED = "unstated";

    /** From this size on, in bytes, links decide how long a call takes. */
    public static final long LARGE = 64 << 10;

    private static final int LEAST_ROWS = 4;

    private static final String RESOURCE = "nccl-errors.json";
    private static final JsonNode STORED = stored();

    public NcclErrors {
        gpus = List.copyOf(gpus);
        versions = Collections.unmodifiableMap(new LinkedHashMap<>(versions));
    }

    /**
     * A published sweep beside the simulator.
     *
     * @param compared its rows
     * @param seen whether some constants are fitted to it
     * @param gpus how many devices it has
     * @param version of NCCL, or {@link #UNSTATED}
     */
    record Sweep(SweepComparison compared, boolean seen, int gpus, String version) {
        private List<SweepComparison.Row> rows(boolean large) {
            return compared.rows().stream()
                    .filter(row -> !row.predicted().hostBound() && row.bytes() >= LARGE == large)
                    .toList();
        }
    }

    /**
     * Errors as fractions of the measured times, without their signs.
     *
     * @param rows number of rows
     * @param unseen how many of them are of sweeps that gave no constant
     * @param from least size of them in bytes
     * @param median the median; of an even number of rows the greater of the middle two
     * @param worst the greatest
     */
    public record Errors(int rows, int unseen, long from, double median, double worst) {
        /** Returns the errors of rows; 0 where there are too few for a worst error. */
        private static Errors of(List<Sweep> sweeps, boolean large) {
            List<SweepComparison.Row> rows =
                    sweeps.stream().flatMap(sweep -> sweep.rows(large).stream()).toList();
            if (rows.size() < LEAST_ROWS) {
                return new Errors(0, 0, 0, 0, 0);
            }
            int unseen = sweeps.stream()
                    .filter(sweep -> !sweep.seen())
                    .mapToInt(sweep -> sweep.rows(large).size())
                    .sum();
            SweepComparison compared = new SweepComparison(rows);
            long from =
                    rows.stream().mapToLong(SweepComparison.Row::bytes).min().orElseThrow();
            return new Errors(rows.size(), unseen, from, compared.medianError(), compared.worstError());
        }

        /** Returns how many times as long as the other one a simulated or a measured time was at most. */
        public double mostTimes() {
            // A time that is too short by a part w of the measured one was measured at 1 / (1 - w) of it.
            return Math.max(1 + worst, worst < 1 ? 1 / (1 - worst) : 1);
        }

        private String sentence(String end) {
            return rows == 0
                    ? "unknown" + end
                    : String.format(
                                    Locale.ROOT,
                                    "%.1f%% of the measured time (worst %.1f%%: a factor of %s = %.3f either way)",
                                    100 * median,
                                    100 * worst,
                                    String.format(Locale.ROOT, worst < 1 ? "1/(1 - %.4f)" : "1 + %.4f", worst),
                                    mostTimes())
                            + " from "
                            + new ByteSize(from).label() + end;
        }
    }

    /** Returns the errors of the rows of all sweeps of one collective together. */
    static NcclErrors of(String profile, Collective collective, List<Sweep> sweeps) {
        Errors large = Errors.of(sweeps, true);
        Errors small = Errors.of(sweeps, false);
        Map<String, Integer> versions = new LinkedHashMap<>();
        for (Sweep sweep : sweeps) {
            int rows = (large.rows() == 0 ? 0 : sweep.rows(true).size())
                    + (small.rows() == 0 ? 0 : sweep.rows(false).size());
            versions.merge(sweep.version(), rows, Integer::sum);
        }
        return new NcclErrors(
                profile,
                collective.label(),
                sweeps.size(),
                sweeps.stream().map(Sweep::gpus).distinct().sorted().toList(),
                versions,
                large,
                small);
    }

    /** Returns the errors of all classes and collectives that a sweep was published of. */
    static List<NcclErrors> all() {
        List<NcclErrors> all = new ArrayList<>();
        for (JsonNode entry : STORED.get("sweeps")) {
            all.add(new NcclErrors(
                    entry.get("profile").textValue(),
                    entry.get("collective").textValue(),
                    entry.get("sweeps").intValue(),
                    entry.get("gpus").valueStream().map(JsonNode::intValue).toList(),
                    versions(entry.get("versions")),
                    errors(entry.get("large")),
                    errors(entry.get("small"))));
        }
        return all;
    }

    private static Map<String, Integer> versions(JsonNode entry) {
        Map<String, Integer> versions = new LinkedHashMap<>();
        entry.properties()
                .forEach(each -> versions.put(each.getKey(), each.getValue().intValue()));
        return versions;
    }

    private static JsonNode stored() {
        try (InputStream in = NcclErrors.class.getResourceAsStream(RESOURCE)) {
            if (in == null) {
                throw new IllegalStateException("resource " + RESOURCE + " is missing; the jar is not whole");
            }
            return JsonMapper.builder().build().readTree(in);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Errors errors(JsonNode entry) {
        return new Errors(
                entry.get("rows").intValue(),
                entry.get("unseen").intValue(),
                entry.get("from").longValue(),
                entry.get("median").doubleValue(),
                entry.get("worst").doubleValue());
    }

    /**
     * Returns the errors of a collective on so many devices, or of all sweeps where none has so many; nothing if the
     * profile is not built in, or no such sweep was published.
     */
    public static Optional<NcclErrors> of(Profile profile, Collective collective, int devices) {
        List<NcclErrors> all = of(profile)
                .filter(errors -> errors.collective().equals(collective.label()))
                .toList();
        return all.stream()
                .filter(errors -> errors.gpus().equals(List.of(devices)))
                .findFirst()
                .or(() -> all.stream().max(Comparator.comparingInt(NcclErrors::sweeps)));
    }

    private static Stream<NcclErrors> of(Profile profile) {
        return !isBuiltIn(profile)
                ? Stream.empty()
                : all().stream().filter(errors -> errors.profile().equals(profile.name()));
    }

    private static boolean isBuiltIn(Profile profile) {
        return Profiles.find(profile.name()).filter(profile::equals).isPresent();
    }

    /** Returns whether published measurements say how far simulated times of a profile can be trusted. */
    static boolean isKnown(Profile profile) {
        return isBuiltIn(profile)
                && (of(profile).findAny().isPresent() || STORED.get("tables").has(profile.name()));
    }

    /**
     * Returns the times that a call could take by the worst error, as far as that is known: of no smaller calls than
     * were measured. None is shorter than what the links need, unless the simulated one is.
     *
     * @param devices how many take part
     * @param us simulated time in us
     * @param bytes size of the call
     * @param leastUs what the links need, in us
     */
    static Optional<TimeRange> range(
            Profile profile, Collective collective, int devices, double us, long bytes, double leastUs) {
        return of(profile, collective, devices)
                .map(errors -> bytes < LARGE ? errors.small() : errors.large())
                .filter(errors -> errors.rows() > 0 && bytes >= errors.from())
                .map(errors -> {
                    double ratio = errors.mostTimes();
                    return new TimeRange(Math.max(us / ratio, Math.min(us, leastUs)), us * ratio);
                });
    }

    /**
     * Returns how far simulated times of a collective can be trusted, in words.
     *
     * @param devices how many take part
     */
    public static String sentence(Profile profile, Collective collective, int devices) {
        Optional<NcclErrors> errors = of(profile, collective, devices);
        JsonNode tables = STORED.get("tables").get(profile.name());
        return errors.isPresent()
                ? errors.get().sentence()
                : tables != null && isBuiltIn(profile) && collective == Collective.ALL_REDUCE
                        ? tables.textValue()
                        : "No published sweep of " + collective.label() + " with this profile says how far it is off";
    }

    /** Returns the versions of NCCL in brackets; nothing where none is stated. */
    private String stated() {
        return versions.keySet().equals(Set.of(UNSTATED))
                ? ""
                : versions.entrySet().stream()
                        .sorted(Comparator.comparing(each -> each.getKey().equals(UNSTATED)))
                        .map(each -> each.getKey() + " in " + Numbers.count(each.getValue(), "row"))
                        .collect(Collectors.joining(", ", " (NCCL ", ")"));
    }

    private String sentence() {
        int rows = large.rows() + small.rows();
        int unseen = large.unseen() + small.unseen();
        return "Its median error against " + Numbers.count(rows, "row") + " of "
                + Numbers.count(sweeps, "published sweep") + " of "
                + collective
                + gpus.stream().map(String::valueOf).collect(Collectors.joining(", ", " on ", " GPUs"))
                + stated() + " is "
                + large.sentence(large.rows() == 0 ? " for large calls" : " on") + ", "
                + small.sentence(
                        small.rows() == 0
                                ? " below, where too few rows count (not those in which one process took longer to"
                                        + " launch on all GPUs than the call took)"
                                : " to 64 KiB")
                + "; "
                + (unseen == 0 ? "all" : unseen == rows ? "none" : String.valueOf(rows - unseen))
                + " of these rows gave its constants";
    }
}
