package dev.banyan.simulate.internal.rate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class FairSharesTest {
    private record Case(List<Set<Integer>> paths, List<Double> capacity, List<Double> queueing) {
        private FairShares shares() {
            int[] start = new int[paths.size() + 1];
            for (int flow = 0; flow < paths.size(); flow++) {
                start[flow + 1] = start[flow] + paths.get(flow).size();
            }
            int[] path = paths.stream()
                    .flatMap(Set::stream)
                    .mapToInt(Integer::intValue)
                    .toArray();
            return new FairShares(
                    start,
                    path,
                    capacity.stream().mapToDouble(Double::doubleValue).toArray(),
                    queueing.stream().mapToDouble(Double::doubleValue).toArray());
        }

        private double total(int resource, Set<Integer> active) {
            long users = active.stream()
                    .filter(flow -> paths.get(flow).contains(resource))
                    .count();
            return capacity.get(resource) / (1 + queueing.get(resource) * (users - 1));
        }

        /** All rates grow together by small steps; a flow stops where one more step would not fit. */
        private Map<Integer, Double> byGrowing(Set<Integer> active, double step) {
            Map<Integer, Double> rates = new HashMap<>();
            active.forEach(flow -> rates.put(flow, 0.0));
            Set<Integer> growing = new TreeSet<>(active);
            while (!growing.isEmpty()) {
                for (int flow : List.copyOf(growing)) {
                    boolean fits = paths.get(flow).stream()
                            .allMatch(resource -> rates.entrySet().stream()
                                                    .filter(each -> paths.get(each.getKey())
                                                            .contains(resource))
                                                    .mapToDouble(Map.Entry::getValue)
                                                    .sum()
                                            + step
                                    <= total(resource, active));
                    if (fits) {
                        rates.merge(flow, step, Double::sum);
                    } else {
                        growing.remove(flow);
                    }
                }
            }
            return rates;
        }

        /** All rates grow together until the next resource is full, and so on with the flows that don't use it. */
        private Map<Integer, Double> byFilling(Set<Integer> active) {
            Map<Integer, Double> rates = new HashMap<>();
            double[] left = new double[capacity.size()];
            for (int resource = 0; resource < left.length; resource++) {
                left[resource] = total(resource, active);
            }
            Set<Integer> growing = new TreeSet<>(active);
            while (!growing.isEmpty()) {
                int first = -1;
                double level = Double.POSITIVE_INFINITY;
                for (int resource = 0; resource < left.length; resource++) {
                    double share = left[resource] / users(resource, growing).size();
                    if (!users(resource, growing).isEmpty() && share < level) {
                        level = share;
                        first = resource;
                    }
                }
                for (int flow : users(first, growing)) {
                    rates.put(flow, level);
                    growing.remove(flow);
                    for (int resource : paths.get(flow)) {
                        left[resource] -= level;
                    }
                }
            }
            return rates;
        }

        private List<Integer> users(int resource, Set<Integer> among) {
            return among.stream()
                    .filter(flow -> paths.get(flow).contains(resource))
                    .toList();
        }
    }

    /** Keeps the events of a listener. */
    private static final class Heard implements FairShares.Listener {
        private final Map<Integer, Double> levels = new HashMap<>();
        private final Map<Integer, Integer> bottlenecks = new HashMap<>();
        private final List<String> lines = new ArrayList<>();

        @Override
        public void levelChanged(int resource, double level) {
            lines.add("resource " + resource + " gives " + level);
            levels.put(resource, level);
        }

        @Override
        public void slowedBy(int flow, int resource) {
            lines.add("flow " + flow + " by resource " + resource);
            bottlenecks.put(flow, resource);
        }

        private double rate(int flow) {
            return levels.getOrDefault(bottlenecks.getOrDefault(flow, -1), 0.0);
        }
    }

    private static Case random(Random random, int flows, int resources) {
        List<Set<Integer>> paths = new ArrayList<>();
        for (int flow = 0; flow < flows; flow++) {
            Set<Integer> path = new TreeSet<>();
            int length = 1 + random.nextInt(4);
            for (int i = 0; i < length; i++) {
                path.add(random.nextInt(resources));
            }
            paths.add(path);
        }
        return new Case(
                paths,
                IntStream.range(0, resources)
                        .mapToObj(i -> 1.0 + random.nextInt(20))
                        .toList(),
                IntStream.range(0, resources)
                        .mapToObj(i -> random.nextInt(3) == 0 ? random.nextDouble() : 0.0)
                        .toList());
    }

    /**
     * Bertsekas and Gallager: rates are max-min fair if and only if every flow has a resource that is full and
     * where no flow has a greater rate.
     */
    private static void checkBottlenecks(Case sample, FairShares shares, Set<Integer> active) {
        for (int resource = 0; resource < sample.capacity.size(); resource++) {
            assertThat(used(sample, shares, active, resource))
                    .isLessThanOrEqualTo(sample.total(resource, active) * (1 + 1e-9));
        }
        for (int flow : active) {
            assertThat(sample.paths.get(flow))
                    .as("path of flow %d", flow)
                    .anyMatch(resource -> used(sample, shares, active, resource)
                                    >= sample.total(resource, active) * (1 - 1e-9)
                            && active.stream()
                                    .filter(other -> sample.paths.get(other).contains(resource))
                                    .allMatch(other -> shares.rate(other) <= shares.rate(flow) * (1 + 1e-9)));
        }
    }

    private static double used(Case sample, FairShares shares, Set<Integer> active, int resource) {
        return active.stream()
                .filter(flow -> sample.paths.get(flow).contains(resource))
                .mapToDouble(shares::rate)
                .sum();
    }

    @Test
    void everyFlowHasABottleneckWhateverCameAndWent() {
        for (int seed = 0; seed < 60; seed++) {
            Random random = new Random(seed);
            Case sample = random(random, 1 + random.nextInt(30), 1 + random.nextInt(12));
            FairShares shares = sample.shares();
            Set<Integer> active = new TreeSet<>();
            for (int change = 0; change < 30; change++) {
                for (int i = random.nextInt(3); i >= 0; i--) {
                    int flow = random.nextInt(sample.paths.size());
                    if (active.remove(flow)) {
                        shares.remove(flow, change);
                    } else {
                        active.add(flow);
                        shares.add(flow, change);
                    }
                }
                shares.settle(new Heard());
                checkBottlenecks(sample, shares, active);
            }
        }
    }

    @Test
    void wholeSequencesGiveTheRatesOfFillingAnew() {
        for (int seed = 0; seed < 24; seed++) {
            Random random = new Random(seed);
            // Some have more flows than bits in a word.
            Case sample = random(random, 1 + random.nextInt(seed % 4 == 0 ? 150 : 20), 1 + random.nextInt(16));
            FairShares shares = sample.shares();
            Heard heard = new Heard();
            Set<Integer> active = new TreeSet<>();
            for (int change = 0; change < 150; change++) {
                for (int i = random.nextInt(4); i >= 0; i--) {
                    int flow = random.nextInt(sample.paths.size());
                    if (active.remove(flow)) {
                        shares.remove(flow, change);
                        heard.bottlenecks.remove(flow);
                    } else {
                        active.add(flow);
                        shares.add(flow, change);
                    }
                }
                shares.settle(heard);
                sample.byFilling(active).forEach((flow, rate) -> {
                    assertThat(shares.rate(flow)).isEqualTo(rate, within(1e-9 * rate));
                    assertThat(heard.rate(flow)).isEqualTo(shares.rate(flow));
                });
            }
        }
    }

    @Test
    void ratesAreThoseThatGrowingAllTogetherGives() {
        for (int seed = 0; seed < 10; seed++) {
            Random random = new Random(seed);
            Case sample = random(random, 1 + random.nextInt(8), 1 + random.nextInt(5));
            FairShares shares = sample.shares();
            Set<Integer> active = new TreeSet<>();
            for (int flow = 0; flow < sample.paths.size(); flow++) {
                shares.add(flow, 0);
                active.add(flow);
            }
            shares.settle(new Heard());
            double step = 2e-3;
            sample.byGrowing(active, step)
                    .forEach((flow, rate) -> assertThat(shares.rate(flow)).isEqualTo(rate, within(0.02)));
        }
    }

    @Test
    void listenersHearOfChangesOnly() {
        Case sample =
                new Case(List.of(Set.of(0), Set.of(0), Set.of(1), Set.of(0, 1)), List.of(6.0, 5.0), List.of(0.0, 0.0));
        FairShares shares = sample.shares();
        assertThat(afterSettling(shares)).isEmpty();
        shares.add(0, 0);
        shares.add(2, 0);
        assertThat(afterSettling(shares))
                .containsExactlyInAnyOrder(
                        "resource 0 gives 6.0", "flow 0 by resource 0", "resource 1 gives 5.0", "flow 2 by resource 1");
        shares.add(1, 10);
        assertThat(afterSettling(shares)).containsExactly("resource 0 gives 3.0", "flow 1 by resource 0");
        shares.add(3, 15);
        assertThat(afterSettling(shares))
                .containsExactly("resource 0 gives 2.0", "resource 1 gives 3.0", "flow 3 by resource 0");
        shares.remove(0, 25);
        assertThat(afterSettling(shares))
                .containsExactly("resource 0 gives 3.5", "resource 1 gives 2.5", "flow 3 by resource 1");
        shares.remove(3, 30);
        shares.remove(1, 40);
        assertThat(afterSettling(shares)).containsExactly("resource 1 gives 5.0");
        assertThat(shares.busy(0)).isEqualTo(40);
        assertThat(shares.busy(1)).isZero();
        shares.add(1, 100);
        shares.remove(1, 101);
        assertThat(afterSettling(shares)).isEmpty();
        assertThat(shares.busy(0)).isEqualTo(41);
    }

    private static List<String> afterSettling(FairShares shares) {
        Heard heard = new Heard();
        shares.settle(heard);
        return heard.lines;
    }
}
