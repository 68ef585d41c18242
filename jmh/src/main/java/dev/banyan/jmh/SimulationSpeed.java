package dev.banyan.jmh;

import dev.banyan.schedule.Chunk;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.Step;
import dev.banyan.schedule.internal.algorithm.CollectiveAlgorithm;
import dev.banyan.schedule.internal.algorithm.CollectiveRequest;
import dev.banyan.schedule.internal.algorithm.ForestAlgorithm;
import dev.banyan.schedule.internal.algorithm.PackedAlgorithm;
import dev.banyan.schedule.internal.algorithm.RingAlgorithm;
import dev.banyan.schedule.internal.algorithm.StarAlgorithm;
import dev.banyan.schedule.type.Collective;
import dev.banyan.simulate.Job;
import dev.banyan.simulate.Profiles;
import dev.banyan.simulate.Simulation;
import dev.banyan.simulate.Simulator;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.Machine;
import dev.banyan.trees.balanced.KernighanLin;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.LogicalLink;
import dev.banyan.trees.packing.TreePacking;
import dev.banyan.trees.ring.RingFinder;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.AuxCounters;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Measures the steps per second of the simulator on one core, in the column {@code steps}: an allreduce of 1 GiB in
 * chunks of 1 MiB, or one of each key of ResNet-50, all in flight. The network has all links of the machine, so that
 * pairs without a direct link share PCIe; a packing has the links that it was made for. The baseline only reads each
 * step once.
 *
 * <pre>java -jar jmh/target/benchmarks.jar SimulationSpeed -p machine=p3.16xlarge</pre>
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.SECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(value = 2, jvmArgsAppend = "-XX:+UseSerialGC")
public class SimulationSpeed {
    /** A preset. */
    @Param({"p3.16xlarge", "dgx-a100", "dgx-2", "pcie-8"})
    public String machine = "p3.16xlarge";

    /** The algorithm, as the command names it. */
    @Param({"single-tree", "multi-tree", "ring", "star", "packing"})
    public String algorithm = "multi-tree";

    /** The length of the array in bytes, or a model. */
    @Param({"1G", "resnet-50"})
    public String keys = "1G";

    private @Nullable Simulator simulator;
    private List<Job> jobs = List.of();

    /** Counts the steps. */
    @AuxCounters(AuxCounters.Type.OPERATIONS)
    @State(Scope.Thread)
    public static class Counters {
        /** The number of steps so far. */
        public long steps;

        /** Starts an iteration. */
        @Setup(Level.Iteration)
        public void reset() {
            steps = 0;
        }
    }

    /** Builds the trees and the schedules. */
    @Setup
    public void open() {
        Machine preset = Machine.preset(machine);
        Network network =
                Network.ofAllLinks(preset, IntStream.range(0, preset.size()).toArray());
        List<LogicalLink> links = List.of();
        CollectiveAlgorithm made = made(algorithm, preset);
        if (made instanceof PackedAlgorithm packed) {
            TreePacking packing = packed.packing(Collective.ALL_REDUCE, -1);
            network = packing.network();
            links = packing.links();
        }
        simulator = new Simulator(network, links, Profiles.of(preset));
        long[] counts = switch (keys) {
            case "1G" -> new long[] {1 << 28};
            case "resnet-50" -> GradientSizes.resnet50();
            default -> throw new IllegalArgumentException("keys=" + keys + "; use 1G or resnet-50");
        };
        jobs = Arrays.stream(counts)
                .mapToObj(count -> Job.of(
                        made.schedule(new CollectiveRequest(Collective.ALL_REDUCE, -1, count, 4, true, 1 << 20))))
                .toList();
    }

    /** Creates an algorithm over all devices of a machine, with its trees except for those of a packing. */
    private static CollectiveAlgorithm made(String name, Machine machine) {
        LinkMatrix matrix = LinkMatrix.of(machine);
        int[] all = IntStream.range(0, machine.size()).toArray();
        return switch (name) {
            case "single-tree" -> new ForestAlgorithm(name, new KernighanLin().generate(matrix, 0));
            case "multi-tree" -> new ForestAlgorithm(name, new KernighanLin().generate(matrix, all));
            case "ring" -> new RingAlgorithm(RingFinder.order(matrix));
            case "star" -> new StarAlgorithm(machine.size());
            case "packing" -> new PackedAlgorithm(Network.of(machine));
            default ->
                throw new IllegalArgumentException(name + " is not single-tree, multi-tree, ring, star or packing");
        };
    }

    /** Reads each step once, the baseline. */
    @Benchmark
    public int lookAtSteps(Counters counters) {
        int sum = 0;
        for (Job job : jobs) {
            Schedule schedule = job.schedule();
            for (Chunk chunk : schedule.chunks()) {
                for (Step step : chunk.steps()) {
                    sum += step.target().rank()
                            + step.sources().size()
                            + step.after().size();
                }
            }
            counters.steps += schedule.stepCount();
        }
        return sum;
    }

    /** Simulates the steps. */
    @Benchmark
    public Simulation simulate(Counters counters) {
        Simulation done = Objects.requireNonNull(simulator).run(jobs);
        counters.steps += done.steps();
        return done;
    }
}
