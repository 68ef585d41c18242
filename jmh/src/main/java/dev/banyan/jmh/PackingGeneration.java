package dev.banyan.jmh;

import dev.banyan.topology.Device;
import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;
import dev.banyan.trees.bound.AllReduceBound;
import dev.banyan.trees.bound.Bound;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.TreePacking;
import dev.banyan.trees.packing.allreduce.AllReducePacking;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.IntSupplier;
import java.util.stream.IntStream;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Measures how long an optimal tree packing for an allreduce takes. The baseline is its bound, which a packing computes
 * first. Machines are presets; {@code sparse-n}, n devices in three random rings of one or two lanes; {@code dense-n},
 * n devices with one or two lanes between all pairs; {@code torus-n}, n x n x n/2 devices with one lane to each
 * neighbour; and {@code random-torus-n}, n x n/2 x n/2 devices with one or two lanes to each.
 *
 * <pre>java -jar jmh/target/benchmarks.jar PackingGeneration</pre>
 *
 * The bound of machines for which a packing takes long:
 *
 * <pre>java -jar jmh/target/benchmarks.jar PackingGeneration.bound -p machine=sparse-512,dense-512</pre>
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 5, time = 2)
@Fork(2)
public class PackingGeneration {
    private static final double LANE_GBS = 25;

    /** A preset, or a kind and a number. */
    @Param({"p3.16xlarge", "dgx-1p", "mi250x8", "dense-8", "sparse-64", "dense-64", "torus-8", "sparse-256"})
    String machine = "p3.16xlarge";

    private Network network = Network.of(Machine.preset(machine));

    /** Builds the machine. */
    @Setup
    public void prepare() {
        int dash = machine.lastIndexOf('-');
        String kind = machine.substring(0, Math.max(0, dash));
        network = Network.of(
                switch (kind) {
                    case "sparse" -> sparse(Integer.parseInt(machine.substring(dash + 1)));
                    case "dense" -> dense(Integer.parseInt(machine.substring(dash + 1)));
                    case "torus" -> torus(Integer.parseInt(machine.substring(dash + 1)));
                    case "random-torus" -> randomTorus(Integer.parseInt(machine.substring(dash + 1)));
                    default -> Machine.preset(machine);
                });
    }

    private static Machine sparse(int n) {
        Random random = new Random(n);
        Set<Set<Integer>> joined = new HashSet<>();
        List<Link> links = new ArrayList<>();
        for (int ring = 0; ring < 3; ring++) {
            List<Integer> order = new ArrayList<>();
            for (int device = 0; device < n; device++) {
                order.add(random.nextInt(order.size() + 1), device);
            }
            for (int i = 0; i < n; i++) {
                int a = order.get(i);
                int b = order.get((i + 1) % n);
                if (joined.add(Set.of(a, b))) {
                    links.add(link(a, b, 1 + random.nextInt(2)));
                }
            }
        }
        return direct(n, links);
    }

    private static Machine dense(int n) {
        Random random = new Random(n);
        List<Link> links = new ArrayList<>();
        for (int b = 1; b < n; b++) {
            for (int a = 0; a < b; a++) {
                links.add(link(a, b, 1 + random.nextInt(2)));
            }
        }
        return direct(n, links);
    }

    private static Machine torus(int n) {
        return torus(() -> 1, n, n, n / 2);
    }

    private static Machine randomTorus(int n) {
        Random random = new Random((long) n * n * n / 4);
        return torus(() -> 1 + random.nextInt(2), n, n / 2, n / 2);
    }

    private static Machine torus(IntSupplier lanes, int... size) {
        int devices = Arrays.stream(size).reduce(1, (a, b) -> a * b);
        List<Link> links = new ArrayList<>();
        for (int device = 0; device < devices; device++) {
            int stride = 1;
            for (int length : size) {
                int at = device / stride % length;
                links.add(link(device, device + ((at + 1) % length - at) * stride, lanes.getAsInt()));
                stride *= length;
            }
        }
        return direct(devices, links);
    }

    private static Link link(int a, int b, int lanes) {
        return Link.duplex(a, b, Link.Kind.NVLINK, lanes, LANE_GBS * lanes, 1);
    }

    private static Machine direct(int devices, List<Link> links) {
        return new Machine(
                "direct",
                IntStream.range(0, devices)
                        .mapToObj(i -> Device.named("GPU" + i))
                        .toList(),
                List.of(),
                links,
                List.of(),
                List.of());
    }

    @Benchmark
    public Bound bound() {
        return AllReduceBound.of(network);
    }

    @Benchmark
    public TreePacking packing() {
        return AllReducePacking.of(network);
    }
}
