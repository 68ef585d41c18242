package dev.banyan.msccl;

import dev.banyan.schedule.Chunk;
import dev.banyan.schedule.Location;
import dev.banyan.schedule.Space;
import dev.banyan.schedule.Step;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Groups steps over ranges of one byte into independent chunks: the components of the steps that are connected
 * by a range that one of them writes. Chunks that do the same at successive bytes become one longer chunk.
 * O(m log m) time for m steps.
 */
final class ChunkAssembly {
    /** A location relative to the first target of its chunk. */
    private record Offset(int rank, Space space, long bytes) {}

    /** A step relative to the first target of its chunk. */
    private record Shape(List<Offset> sources, Offset target, List<Integer> after) {}

    private record Component(int first, long base, List<Step> steps) {}

    private final List<Step> steps;
    private final int[] parents;

    private ChunkAssembly(List<Step> steps) {
        this.steps = steps;
        parents = new int[steps.size()];
        Arrays.setAll(parents, i -> i);
    }

    /**
     * Makes the chunks.
     *
     * @param steps none before one that it is after
     */
    static List<Chunk> of(List<Step> steps) {
        return new ChunkAssembly(steps).chunks();
    }

    private List<Chunk> chunks() {
        connect();
        Map<Integer, List<Integer>> components = new LinkedHashMap<>();
        for (int i = 0; i < steps.size(); i++) {
            components.computeIfAbsent(find(i), _ -> new ArrayList<>()).add(i);
        }
        Map<List<Shape>, List<Component>> alike = new LinkedHashMap<>();
        for (List<Integer> members : components.values()) {
            Component component = component(members);
            alike.computeIfAbsent(shape(component), _ -> new ArrayList<>()).add(component);
        }
        Map<Integer, Chunk> chunks = new TreeMap<>();
        for (List<Component> group : alike.values()) {
            group.sort(Comparator.comparingLong(Component::base));
            int start = 0;
            for (int end = 1; end <= group.size(); end++) {
                if (end == group.size() || group.get(end).base != group.get(end - 1).base + 1) {
                    Component first = group.get(start);
                    chunks.put(first.first, new Chunk(end - start, first.steps));
                    start = end;
                }
            }
        }
        return List.copyOf(chunks.values());
    }

    private void connect() {
        Map<Location, Integer> writers = new HashMap<>();
        for (int i = 0; i < steps.size(); i++) {
            Integer other = writers.putIfAbsent(steps.get(i).target(), i);
            if (other != null) {
                parents[find(i)] = find(other);
            }
        }
        for (int i = 0; i < steps.size(); i++) {
            for (Location source : steps.get(i).sources()) {
                Integer writer = writers.get(source);
                if (writer != null) {
                    parents[find(i)] = find(writer);
                }
            }
        }
    }

    private int find(int step) {
        int root = step;
        while (parents[root] != root) {
            parents[root] = parents[parents[root]];
            root = parents[root];
        }
        return root;
    }

    private Component component(List<Integer> members) {
        Map<Integer, Integer> index = new HashMap<>();
        List<Step> own = new ArrayList<>(members.size());
        for (int member : members) {
            Step step = steps.get(member);
            List<Integer> after =
                    step.after().stream().map(i -> index.getOrDefault(i, -1)).toList();
            index.put(member, own.size());
            own.add(new Step(step.sources(), step.target(), after));
        }
        return new Component(members.getFirst(), own.getFirst().target().offset(), own);
    }

    private static List<Shape> shape(Component component) {
        return component.steps.stream()
                .map(step -> new Shape(
                        step.sources().stream()
                                .map(source -> offset(source, component.base))
                                .toList(),
                        offset(step.target(), component.base),
                        step.after()))
                .toList();
    }

    private static Offset offset(Location location, long base) {
        return new Offset(location.rank(), location.space(), location.offset() - base);
    }
}
