package dev.banyan.topology.internal.pcie;

import dev.banyan.topology.internal.speed.SpeedChoice;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/**
 * Shares the nodes of a machine out to its CPUs. A node is a group of GPUs that PCIe joins without a way between NUMA
 * nodes; one CPU has several, as with AMD's NPS4 and Intel's sub-NUMA clustering, or where the driver sees no nearer
 * way between the host bridges of one NUMA node.
 *
 * <p>Nodes of one affinity belong to one CPU. Where the number of NUMA nodes of a CPU is known, it says which belong
 * together. Else two affinities are two CPUs, and of more than two the lower half of the NUMA nodes is one CPU, and the
 * upper half the other.
 */
public final class CpuNodes {
    private static final Pattern NUMA = Pattern.compile("numa (\\d{1,4})");

    private CpuNodes() {}

    /**
     * Returns the nodes of each CPU as indices into the list; no CPU is without a node.
     *
     * @param affinities the affinity of each node; empty where it is not known
     * @param nodesOfCpu number of NUMA nodes of each CPU; 0 if it is not known
     */
    public static List<List<Integer>> byCpu(List<String> affinities, int nodesOfCpu) {
        if (isKnown(affinities, nodesOfCpu)) {
            Map<Integer, List<Integer>> cpus = new TreeMap<>();
            for (int node = 0; node < affinities.size(); node++) {
                Matcher numa = NUMA.matcher(affinities.get(node));
                int cpu = numa.matches() ? Integer.parseInt(numa.group(1)) / nodesOfCpu : 0;
                cpus.computeIfAbsent(cpu, key -> new ArrayList<>()).add(node);
            }
            return List.copyOf(cpus.values());
        }
        Map<String, List<Integer>> domains = new LinkedHashMap<>();
        for (int node = 0; node < affinities.size(); node++) {
            String affinity = affinities.get(node);
            domains.computeIfAbsent(affinity.isEmpty() ? "node " + node : affinity, key -> new ArrayList<>())
                    .add(node);
        }
        return domains.size() <= 2
                ? List.copyOf(domains.values())
                : halves(domains).stream().filter(cpu -> !cpu.isEmpty()).toList();
    }

    /** Returns whether it is known which CPU a node belongs to. */
    private static boolean isKnown(List<String> affinities, int nodesOfCpu) {
        return nodesOfCpu == Integer.MAX_VALUE
                || (nodesOfCpu > 0 && affinities.stream().allMatch(NUMA.asMatchPredicate()));
    }

    /** Returns the assumption of {@link #byCpu} if some CPU has several nodes. */
    public static String assumption(List<String> affinities, int nodesOfCpu) {
        if (isKnown(affinities, nodesOfCpu)) {
            return SpeedChoice.INSIDE_CPU;
        }
        return affinities.contains("") || affinities.stream().distinct().count() > 2
                ? "two CPUs with half of the NUMA nodes each, " + SpeedChoice.INSIDE_CPU
                        + ", and one link between the CPUs"
                : "one CPU for GPUs of the same NUMA node or CPUs, though SYS stands between them";
    }

    /** Returns a name of each node: by its NUMA node if these are known and distinct, else by its index in the list. */
    static List<String> names(List<String> affinities) {
        List<String> numbers = affinities.stream()
                .map(NUMA::matcher)
                .filter(Matcher::matches)
                .map(numa -> numa.group(1))
                .distinct()
                .toList();
        return IntStream.range(0, affinities.size())
                .mapToObj(node -> "node" + (numbers.size() == affinities.size() ? numbers.get(node) : node))
                .toList();
    }

    private static List<List<Integer>> halves(Map<String, List<Integer>> domains) {
        List<Integer> numbers = new ArrayList<>();
        for (String affinity : domains.keySet()) {
            Matcher numa = NUMA.matcher(affinity);
            if (numa.matches()) {
                numbers.add(Integer.parseInt(numa.group(1)));
            }
        }
        boolean numbered = numbers.size() == domains.size();
        int most = numbers.stream().mapToInt(Integer::intValue).max().orElse(0);
        // A CPU has 1, 2 or 4 NUMA nodes, so two of them have twice the greatest power of two that is in use.
        int half = numbered ? Integer.highestOneBit(most) : domains.size() / 2;
        List<List<Integer>> cpus = List.of(new ArrayList<>(), new ArrayList<>());
        int place = 0;
        for (List<Integer> nodes : domains.values()) {
            int number = numbered ? numbers.get(place) : place;
            cpus.get(number < half ? 0 : 1).addAll(nodes);
            place++;
        }
        return cpus;
    }
}
