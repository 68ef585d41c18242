package dev.banyan.study.diagnosis;

import dev.banyan.schedule.internal.algorithm.CollectiveRequest;
import dev.banyan.schedule.internal.algorithm.Packings;
import dev.banyan.schedule.plan.Execution;
import dev.banyan.schedule.type.Collective;
import dev.banyan.simulate.RangedCosts.TimeRange;
import dev.banyan.simulate.internal.nccl.NcclRings;
import dev.banyan.simulate.internal.nccl.Protocol;
import dev.banyan.simulate.internal.nccl.Transport;
import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.study.measured.ComparedSweep;
import dev.banyan.study.measured.NcclErrors;
import dev.banyan.study.measured.NcclLog;
import dev.banyan.study.measured.PublishedSweep;
import dev.banyan.study.measured.SweepComparison;
import dev.banyan.study.text.AssumptionText;
import dev.banyan.study.text.ByteSize;
import dev.banyan.study.text.ChoiceText;
import dev.banyan.study.text.Numbers;
import dev.banyan.study.workload.PredictedCall;
import dev.banyan.study.workload.Predictions;
import dev.banyan.topology.Machine;
import dev.banyan.trees.bound.Bound;
import dev.banyan.trees.bound.SwitchReductionBound;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.ring.RingSet;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.DoubleSummaryStatistics;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The findings from a sweep of NCCL, against the bound of the links, the model of NCCL and Banyan's own prediction.
 *
 * @param file name of its file
 * @param title what was measured, on what
 * @param boundGBs what no schedule over the links exceeds, in GB/s algbw; with reduction in switches that can
 * @param findings one or more sentences each
 * @param worthTrying settings of NCCL and other changes; empty if none is likely to help
 * @param rows by size
 */
public record SweepDiagnosis(
        String file, String title, double boundGBs, List<String> findings, List<Advice> worthTrying, List<Row> rows) {
    /**
     * One size.
     *
     * @param bytes size as nccl-tests print it
     * @param measuredUs time of one call in us
     * @param share of the bound that it reaches
     * @param modelUs what the model of NCCL expects, in us
     */
    public record Row(long bytes, double measuredUs, double share, double modelUs) {}

    /**
     * Finds what there is to say of each sweep. Sweeps of one machine share its simulators.
     *
     * @param execution what executes Banyan's calls
     */
    public static List<SweepDiagnosis> of(List<ComparedSweep> sweeps, Execution execution) {
        CallPredictions predictions = new CallPredictions(execution);
        return sweeps.stream()
                .map(measured -> new Findings(measured, predictions).diagnosis())
                .toList();
    }

    /** Finds what there is to say. */
    private static final class Findings {
        /** Rows within this factor of the best are where a sweep has its rate. */
        private static final double FLAT = 0.9;
        /** Times within this factor of the model's are as expected: most published rows are. */
        private static final double EXPECTED = 1.3;
        /** Least relative difference of times that is named. */
        private static final double CLOSE = 0.05;
        /** Single rows vary more than the largest: NCCL changes protocols between them. */
        private static final double SLOW = 1.6;
        /** Fewer than one of so many rows may be slow on a healthy machine. */
        private static final int FEW = 4;
        /** Factors that differ by less are printed alike, or nearly so. */
        private static final double ROUNDING = 1.05;
        /** Measured rates above the bound by more than this factor are no noise. */
        private static final double NOISE = 1.02;
        /** Up to this size launches and hops decide how long a call takes. */
        private static final long SMALL = 8 << 10;

        private final PublishedSweep setting;
        private final Machine machine;
        private final Collective collective;
        private final @Nullable NcclLog log;
        private final List<String> causes;
        private final ComparedSweep measured;
        private final CallPredictions predictions;
        private final NcclRings rings;
        private final SweepComparison compared;
        /** The bound, with reduction in the switches where they can. */
        private final double boundGbs;
        /** The bound without reduction in the switches. */
        private final double forwardingGbs;

        private final boolean reduces;
        private final List<String> findings = new ArrayList<>();
        private final List<Advice> advice = new ArrayList<>();

        Findings(ComparedSweep measured, CallPredictions predictions) {
            this.predictions = predictions;
            this.measured = measured;
            log = measured.log().orElse(null);
            causes = Causes.of(measured);
            setting = measured.setting();
            machine = setting.machine();
            collective = setting.collective();
            rings = NcclRings.of(machine, measured.profile(), setting.transport());
            compared = measured.compared();
            Network network = Network.of(machine);
            forwardingGbs = Packings.best(network)
                    .packing(collective, root())
                    .bound()
                    .gbs()
                    .doubleValue();
            Optional<Bound> reduced = setting.transport() == Transport.PEER && collective == Collective.ALL_REDUCE
                    ? SwitchReductionBound.of(network)
                    : Optional.empty();
            reduces = reduced.isPresent();
            boundGbs = reduced.map(bound -> bound.gbs().doubleValue()).orElse(forwardingGbs);
        }

        private int root() {
            return collective.hasRoot() ? 0 : -1;
        }

        SweepDiagnosis diagnosis() {
            measured.run().wrong().sentence().ifPresent(findings::add);
            if (measured.run().wrong().isWrong()) {
                advice.add(new Advice(
                        "the same run with NCCL_P2P_DISABLE=1",
                        "a guess: if its results are right, copies between GPUs are damaged, often by IOMMU or ACS;"
                                + " if they are not, look for a faulty GPU"));
            } else {
                measured.run()
                        .stopped()
                        .ifPresent(line -> findings.add("nccl-tests stopped before the end: '" + line + "'"));
                findings.addAll(causes);
                healthy();
                share();
                ring();
                small();
                model();
                prediction();
                staging();
            }
            if (setting.isOwn() && !setting.remark().isEmpty()) {
                findings.add(setting.remark());
            }
            return new SweepDiagnosis(
                    setting.file(),
                    collective.label() + " on " + machine.size() + " devices of " + machine.name() + ", "
                            + (setting.transport() == Transport.HOST ? "through the host's memory" : "peer to peer"),
                    boundGbs,
                    List.copyOf(findings),
                    List.copyOf(advice),
                    compared.rows().stream()
                            .map(row -> new Row(
                                    row.bytes(),
                                    row.measuredUs(),
                                    share(row),
                                    row.predicted().us()))
                            .toList());
        }

        private double share(SweepComparison.Row row) {
            return row.bytes() / row.measuredUs() / 1e3 / boundGbs;
        }

        private static String percent(double share) {
            return Numbers.format("%.0f%%", 100 * share);
        }

        private static String size(long bytes) {
            return new ByteSize(bytes).label();
        }

        private static String us(double us) {
            return us < 100 ? Numbers.format("%.1f us", us) : Numbers.format("%.0f us", us);
        }

        /** Calls a machine healthy that does what can be expected. */
        private void healthy() {
            if (isHealthy()) {
                SweepComparison.Row last = large().rows().getLast();
                SweepComparison.Row worst = large().rows().stream()
                        .max(Comparator.comparingDouble(Findings::ratio))
                        .orElseThrow();
                findings.add("The machine is healthy: it does what can be expected"
                        + (setting.transport() == Transport.HOST ? " through the host's memory" : "")
                        + (AssumptionText.hasSpeeds(
                                        ChosenMachine.whole(machine, null).assumed())
                                ? " of links as fast as they are assumed to be"
                                : "")
                        + ". The largest call takes " + Numbers.format("%.2f", ratio(last))
                        + " times as long as in the model of NCCL"
                        + (ratio(worst) > EXPECTED
                                ? ", the slowest (" + size(worst.bytes()) + ") " + Numbers.format("%.1f", ratio(worst))
                                        + " times"
                                : ""));
            }
        }

        /** The largest call decides, and nearly all rows; NCCL may choose badly at single sizes. */
        private boolean isHealthy() {
            List<SweepComparison.Row> rows = large().rows();
            return causes.isEmpty()
                    && ratio(rows.getLast()) <= EXPECTED
                    && FEW * rows.stream().filter(row -> ratio(row) > SLOW).count() < rows.size()
                    && best() <= NOISE;
        }

        private static double ratio(SweepComparison.Row row) {
            return row.measuredUs() / row.predicted().us();
        }

        /** The rows of 64 KiB and more; all rows where there is none. */
        private SweepComparison large() {
            return measured.large();
        }

        private double best() {
            return compared.rows().stream().mapToDouble(this::share).max().orElseThrow();
        }

        /** Returns where the last rows begin that all reach a share; the number of rows where the last does not. */
        private int firstOfLast(List<SweepComparison.Row> rows, double share) {
            int from = rows.size();
            while (from > 0 && share(rows.get(from - 1)) >= share) {
                from--;
            }
            return from;
        }

        /** The share of the bound, and from which size on. */
        private void share() {
            List<SweepComparison.Row> rows = compared.rows();
            double best = best();
            double last = share(rows.getLast());
            boolean isRising = rows.size() > 1 && share(rows.get(rows.size() - 2)) < FLAT * last;
            int from = firstOfLast(rows, FLAT * best);
            if (from == rows.size() - 1 && !isRising) {
                // The best row is one of few that stand out.
                from = firstOfLast(rows, FLAT * last);
            }
            String limit = "of what schedules over these links carry at most "
                    + (reduces ? "with reduction in the switches " : "")
                    + "(" + Numbers.gbs(boundGbs) + " of algbw; banyan bound says why)";
            if (from == rows.size()) {
                findings.add("NCCL reaches " + percent(best) + " " + limit + " and falls back to "
                        + percent(share(rows.getLast())) + " at "
                        + size(rows.getLast().bytes()));
            } else if (rows.size() == 1) {
                findings.add("At " + size(rows.getFirst().bytes()) + " NCCL reaches " + percent(best) + " " + limit);
            } else {
                DoubleSummaryStatistics reached = rows.subList(from, rows.size()).stream()
                        .mapToDouble(this::share)
                        .summaryStatistics();
                String most = percent(reached.getMax());
                findings.add("From " + size(rows.get(from).bytes()) + " on NCCL reaches "
                        + (percent(reached.getMin()).equals(most) ? most : percent(reached.getMin()) + " to " + most)
                        + " " + limit
                        + (from == rows.size() - 1 ? "; it is still rising there, so measure larger sizes" : ""));
            }
            if (best > NOISE) {
                findings.add("That is more than the bound: the links are faster than they are described, or fewer GPUs"
                        + " share them; describe the machine by its NCCL XML or by a matrix in GB/s");
            } else if (reduces) {
                double gbs = best * boundGbs;
                findings.add("Without reduction in the switches schedules carry at most "
                        + Numbers.gbs(forwardingGbs) + ", which NCCL "
                        + (gbs > NOISE * forwardingGbs
                                ? "exceeds, so its switches reduce"
                                : "does not exceed: nothing shows that its switches reduce"));
            }
        }

        /** Adds the neighbours in rings that have no NVLink although other pairs have. */
        private void ring() {
            RingHops hops = new RingHops(machine);
            List<List<Integer>> orders = log != null && !log.rings().isEmpty() && log.ranks() == machine.size()
                    ? List.copyOf(log.rings().values())
                    : rings.rings().rings().stream().map(RingSet.Ring::order).toList();
            boolean isLogged = log != null && !log.rings().isEmpty();
            if (setting.transport() == Transport.HOST
                    || machine.links().stream().noneMatch(link -> link.kind().isNvLinkClass())) {
                return;
            }
            List<String> pcie = hops.acrossPcie(orders);
            if (!pcie.isEmpty()) {
                findings.add((isLogged ? "NCCL's rings cross " : "A ring of all devices crosses ")
                        + String.join(", ", pcie) + " by PCIe, which " + (pcie.size() == 1 ? "has" : "have")
                        + " no NVLink; every byte of a ring passes there");
            }
        }

        /** Adds the cause of small calls' times. */
        private void small() {
            List<SweepComparison.Row> small =
                    compared.rows().stream().filter(row -> row.bytes() <= SMALL).toList();
            if (small.isEmpty()) {
                return;
            }
            double[] sorted = small.stream()
                    .mapToDouble(SweepComparison.Row::measuredUs)
                    .sorted()
                    .toArray();
            double median = sorted[sorted.length / 2];
            SweepComparison.Row largest = small.getLast();
            double alone = rings.time(collective, largest.bytes(), 1).us();
            boolean launches = setting.devicesPerProcess() > 1
                    && largest.predicted().hostBound()
                    && median < EXPECTED * largest.predicted().us();
            findings.add("Up to " + size(largest.bytes()) + " a call takes " + us(median)
                    + (launches
                            ? ", about what one process takes to launch on " + setting.devicesPerProcess()
                                    + " devices one after the other ("
                                    + us(largest.predicted().us()) + " in the model)"
                            : ""));
            if (launches && alone < median / EXPECTED) {
                advice.add(new Advice(
                        "a process for each GPU (mpirun -np " + machine.size() + ", -g 1 of nccl-tests)",
                        "small calls then take about " + us(alone)
                                + " in the model of NCCL, for launches no longer wait" + " for each other"));
            }
        }

        private String verdict(double ratio, String way) {
            if (ratio > EXPECTED) {
                String times = Numbers.format("%.1f", ratio);
                return measured.isModelOfClass()
                        ? "NCCL is " + times + " times as slow as " + way + " here" + error(ratio)
                        : "NCCL takes " + times
                                + " times as long, but the model's constants are of other GPUs or links,"
                                + " so that this alone shows no fault";
            }
            if (ratio < 1 / EXPECTED) {
                return "NCCL is faster than the model, whose constants are too slow for this machine";
            }
            return Math.abs(ratio - 1) < CLOSE
                    ? "NCCL does what " + way + " here"
                    : "NCCL takes " + percent(Math.abs(ratio - 1)) + (ratio > 1 ? " more" : " less") + " than " + way
                            + " by the model here";
        }

        /** Returns how far the model itself was off, and what to look at where that explains little. */
        private String error(double ratio) {
            String worst = NcclErrors.of(measured.profile(), collective, machine.size())
                    .map(NcclErrors::large)
                    .filter(errors -> errors.rows() > 0)
                    .map(NcclErrors.Errors::mostTimes)
                    .map(most -> ", by a model that was off by at most " + Numbers.format("%.1f", most)
                            + " times in published sweeps"
                            + (ratio <= ROUNDING * most ? ", so that this alone shows no fault" : ""))
                    .orElse("");
            return worst
                    + (setting.transport() == Transport.HOST
                            ? "; the way through the host is in the model, so check the speeds that are assumed of"
                                    + " links"
                            : "");
        }

        /** Adds the error of the model of NCCL. */
        private void model() {
            List<SweepComparison.Row> slow = large().rows().stream()
                    .filter(row -> ratio(row) > (row.equals(large().rows().getLast()) ? EXPECTED : SLOW))
                    .toList();
            SweepComparison.Row last = large().rows().getLast();
            double ratio = ratio(last);
            String way = last.predicted().protocol() == Protocol.NVLS
                    ? "reduction in the switches allows"
                    : "its rings allow";
            String model = "the model of NCCL (profile " + measured.profile().name() + ")";
            findings.add("At " + size(last.bytes()) + " a call takes " + us(last.measuredUs()) + ", and "
                    + us(last.predicted().us()) + " in " + model + ": "
                    + verdict(ratio, way));
            if (!slow.isEmpty()) {
                SweepComparison.Row worst = slow.stream()
                        .max(Comparator.comparingDouble(Findings::ratio))
                        .orElseThrow();
                findings.add((slow.size() == 1
                                ? "At " + size(worst.bytes()) + " it takes "
                                : "From " + size(slow.getFirst().bytes()) + " to "
                                        + size(slow.getLast().bytes()) + " it takes up to ")
                        + Numbers.format("%.1f", ratio(worst))
                        + " times as long as in the model");
            }
            if (causes.isEmpty() && !isHealthy() && measured.isModelOfClass()) {
                advice.addAll(Guesses.of(measured, slow, ratio > EXPECTED));
            }
            if (causes.isEmpty()) {
                Advice.trees(measured, rings.rings(), best() * boundGbs).ifPresent(advice::add);
            }
        }

        /**
         * Adds the predicted time of Banyan with the algorithm and the executor that it chooses, which nobody has
         * measured; nothing where the constants are of other GPUs or links.
         */
        private void prediction() {
            if (setting.transport() == Transport.HOST || !measured.isModelOfClass()) {
                return;
            }
            SweepComparison.Row last = compared.rows().getLast();
            CollectiveRequest request = Predictions.request(collective, root(), machine.size(), last.bytes(), false);
            PredictedCall call = predictions.call(measured, request);
            double us = call.us();
            double ratio = last.measuredUs() / us;
            double gbs = last.bytes() / us / 1e3;
            Optional<TimeRange> range = Optional.ofNullable(call.range());
            findings.add("Banyan would take " + us(us) + " at " + size(last.bytes()) + " ("
                    + percent(gbs / forwardingGbs) + " of the bound"
                    + (reduces ? " without reduction in the switches" : "")
                    + ") by the simulator, with " + ChoiceText.of(call.choice(), last.bytes()) + " by "
                    + (range.isPresent() ? "a kernel on each GPU" : "graphs of copies")
                    + range.map(times -> ", from " + Numbers.format("%.0f", times.leastUs()) + " to "
                                    + us(times.mostUs()) + " over the ranges of assumed constants")
                            .orElse(", without a range")
                    + "; that is a prediction: " + verdict(ratio)
                    + (range.isPresent() && isWithin(range.get(), last.measuredUs())
                            ? "; the range leaves open which is faster"
                            : ""));
        }

        private static String verdict(double ratio) {
            return ratio > 1.05
                    ? Numbers.format("%.2f", ratio) + " times as fast as NCCL was measured"
                    : ratio < 0.95 ? "slower than NCCL was measured" : "about as fast as NCCL was measured";
        }

        private static boolean isWithin(TimeRange range, double us) {
            return range.leastUs() < us && us < range.mostUs();
        }

        /** Data go through the host's memory where peers do not reach each other. */
        private void staging() {
            if (setting.transport() == Transport.HOST && causes.isEmpty()) {
                findings.add(
                        "Every hop goes through the host's memory, as without peer access, and so passes PCIe twice");
                advice.add(new Advice(
                        "NCCL_P2P_LEVEL=SYS",
                        "a guess: NCCL then tries peer access over all of PCIe and between sockets; only where"
                                + " nvidia-smi topo -p2p r prints OK for the pairs"));
            }
        }
    }
}
