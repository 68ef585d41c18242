package dev.banyan.simulate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.banyan.schedule.Chunk;
import dev.banyan.schedule.Location;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.Step;
import dev.banyan.trees.network.Detours;
import dev.banyan.trees.network.Network;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Random schedules on random links with random constants, several at once. */
class SimulatorPropertyTest {
    private record Case(Network network, Profile profile, List<Job> jobs) {
        private Simulation run(SimulationListener log) {
            return new Simulator(network, List.of(), profile).run(jobs, log);
        }
    }

    private static Case random(int seed) {
        Random random = new Random(seed);
        int ranks = 2 + random.nextInt(5);
        List<Job> jobs = new ArrayList<>();
        for (int job = 0; job < 1 + random.nextInt(4); job++) {
            List<Integer> after = new ArrayList<>();
            for (int before = 0; before < job; before++) {
                if (random.nextInt(3) == 0) {
                    after.add(before);
                }
            }
            jobs.add(new Job(Samples.randomSchedule(ranks, random), random.nextInt(2) * 100.0, after));
        }
        return new Case(Samples.random(random, ranks), Samples.randomProfile(random), jobs);
    }

    static IntStream seeds() {
        return IntStream.range(0, 80);
    }

    @ParameterizedTest
    @MethodSource("seeds")
    void everyByteCrossesTheLinksOfItsPathOnce(int seed) {
        Case sample = random(seed);
        Network network = sample.network;
        Detours detours = new Detours(network);
        double[] expected = new double[network.arcs()];
        double[] combined = new double[network.ranks()];
        for (Job job : sample.jobs) {
            for (Chunk chunk : job.schedule().chunks()) {
                for (Step step : chunk.steps()) {
                    int to = step.target().rank();
                    for (Location source : step.sources()) {
                        List<Integer> path = source.rank() == to
                                ? List.of()
                                : Objects.requireNonNull(detours.path(source.rank(), to));
                        for (int hop = 1; hop < path.size(); hop++) {
                            expected[network.arc(path.get(hop - 1), path.get(hop))] += chunk.bytes();
                        }
                    }
                    if (step.reduces() || step.sources().getFirst().rank() == to) {
                        combined[to] += chunk.bytes() * (step.sources().size() + 1.0);
                    }
                }
            }
        }
        Simulation simulation = sample.run(new Log());
        for (int arc = 0; arc < network.arcs(); arc++) {
            assertThat(simulation.bytes(arc)).isEqualTo(expected[arc]);
            // No faster than the link, and not busy without a transfer.
            double fastestUs = expected[arc] / (network.gbs(arc) * sample.profile.efficiency(network.kind(arc)) * 1e3);
            assertThat(simulation.busyUs(arc)).isGreaterThanOrEqualTo(fastestUs * (1 - 1e-9) - 1e-3);
            assertThat(simulation.busyUs(arc)).isLessThanOrEqualTo(simulation.endUs());
        }
        for (int rank = 0; rank < network.ranks(); rank++) {
            assertThat(simulation.reducedBytes(rank)).isEqualTo(combined[rank]);
        }
    }

    @ParameterizedTest
    @MethodSource("seeds")
    void theSameTwiceIsTheSame(int seed) {
        Log first = new Log();
        Log second = new Log();
        Simulation one = random(seed).run(first);
        Simulation two = random(seed).run(second);
        assertThat(first.all).isNotEmpty().isEqualTo(second.all);
        for (int job = 0; job < random(seed).jobs.size(); job++) {
            assertThat(one.endUs(job)).isEqualTo(two.endUs(job));
        }
    }

    /** Each step after all that it waits for; its kernel after its copies; no job before those it follows. */
    @ParameterizedTest
    @MethodSource("seeds")
    void nothingHappensTooEarly(int seed) {
        Case sample = random(seed);
        Log log = new Log();
        Simulation simulation = sample.run(log);
        List<List<List<double[]>>> spans = new ArrayList<>();
        for (Job job : sample.jobs) {
            spans.add(job.schedule().chunks().stream()
                    .map(chunk -> chunk.steps().stream()
                            .map(step -> new double[] {Double.MAX_VALUE, 0})
                            .toList())
                    .toList());
        }
        for (SimulationListener.Transfer each : log.transfers) {
            double[] span = spans.get(each.job()).get(each.chunk()).get(each.step());
            span[0] = Math.min(span[0], each.startUs());
            span[1] = Math.max(span[1], each.arrivalUs());
            assertThat(each.endUs()).isGreaterThan(each.startUs());
            assertThat(each.arrivalUs()).isGreaterThanOrEqualTo(each.endUs());
        }
        for (SimulationListener.Reduction each : log.reductions) {
            double[] span = spans.get(each.job()).get(each.chunk()).get(each.step());
            assertThat(each.startUs()).isGreaterThanOrEqualTo(span[1]);
            span[0] = Math.min(span[0], each.startUs());
            span[1] = each.endUs();
        }
        for (int j = 0; j < sample.jobs.size(); j++) {
            Schedule schedule = sample.jobs.get(j).schedule();
            double begin = sample.jobs.get(j).startUs();
            for (int before : sample.jobs.get(j).after()) {
                begin = Math.max(begin, simulation.endUs(before));
            }
            double end = begin + sample.profile.get(Constant.COLLECTIVE_US);
            assertThat(simulation.endUs(j)).isGreaterThanOrEqualTo(end - 1e-5);
            for (int c = 0; c < schedule.chunks().size(); c++) {
                List<Step> steps = schedule.chunks().get(c).steps();
                for (int s = 0; s < steps.size(); s++) {
                    double[] span = spans.get(j).get(c).get(s);
                    assertThat(span[0]).isGreaterThanOrEqualTo(end + sample.profile.get(Constant.LAUNCH_US) - 1e-5);
                    for (int before : steps.get(s).after()) {
                        assertThat(span[0])
                                .isGreaterThanOrEqualTo(spans.get(j).get(c).get(before)[1]
                                        + sample.profile.get(Constant.LAUNCH_US)
                                        - 1e-5);
                    }
                    assertThat(simulation.endUs(j)).isGreaterThanOrEqualTo(span[1]);
                }
            }
        }
    }

    /** On no link, at no time, more bytes than fit; no more copies at a device than it has engines. */
    @ParameterizedTest
    @MethodSource("seeds")
    void noLinkAndNoDeviceDoesMoreThanItCan(int seed) {
        Case sample = random(seed);
        Log log = new Log();
        sample.run(log);
        int engines = (int) sample.profile.get(Constant.COPY_ENGINES);
        for (SimulationListener.Transfer at : log.transfers) {
            List<SimulationListener.Transfer> running = log.transfers.stream()
                    .filter(each -> each.startUs() <= at.startUs() && at.startUs() < each.endUs())
                    .toList();
            assertThat(running.stream().filter(each -> each.from() == at.from()))
                    .hasSizeLessThanOrEqualTo(engines);
            assertThat(running.stream().filter(each -> each.to() == at.to())).hasSizeLessThanOrEqualTo(engines);
            assertThat(running.stream().filter(each -> each.from() == at.from() && each.to() == at.to()))
                    .hasSize(1);
            for (int arc : at.arcs()) {
                // All that is sent wholly between the start of this one and any end.
                double gbs = sample.network.gbs(arc) * sample.profile.efficiency(sample.network.kind(arc));
                double inside = log.transfers.stream()
                        .filter(each -> each.arcs().contains(arc)
                                && each.startUs() >= at.startUs()
                                && each.endUs() <= at.endUs())
                        .mapToDouble(SimulationListener.Transfer::bytes)
                        .sum();
                assertThat(inside).isLessThanOrEqualTo((at.endUs() - at.startUs()) * gbs * 1e3 * (1 + 1e-9) + 1);
            }
        }
    }

    /** Without any time but that of links and memory, twice the bandwidth takes half as long. */
    @ParameterizedTest
    @MethodSource("seeds")
    void timesScaleWithBandwidth(int seed) {
        Random random = new Random(seed);
        int ranks = 2 + random.nextInt(5);
        Network network = Samples.random(random, ranks);
        Schedule schedule = Samples.randomSchedule(ranks, random);
        Profile half = Samples.IDEAL
                .with(Constant.NVLINK_EFFICIENCY, 0.5, "half")
                .with(Constant.PCIE_EFFICIENCY, 0.5, "half")
                .with(Constant.REDUCE_GBS, 200, "half");
        double fast = new Simulator(network, List.of(), Samples.ideal(Constant.REDUCE_GBS, 400))
                .run(schedule)
                .endUs();
        double slow = new Simulator(network, List.of(), half).run(schedule).endUs();
        // Rounding to picoseconds may turn the order of two events that are equal but for it.
        assertThat(slow).isEqualTo(2 * fast, within(fast * 1e-3 + 1e-3));
    }
}
