package dev.banyan.cli.bench.workload;

import dev.banyan.cli.bench.call.Measurement;
import dev.banyan.cli.bench.rank.HostSite;
import dev.banyan.cli.bench.report.Reporter;
import dev.banyan.cli.input.MachineOptions;
import dev.banyan.config.Config;
import dev.banyan.kvstore.KVStore;
import dev.banyan.kvstore.Key;
import dev.banyan.kvstore.StoreType;
import dev.banyan.kvstore.internal.overlap.BackwardPass;
import dev.banyan.kvstore.internal.overlap.Overlap;
import dev.banyan.mpi.HierarchicalCommunicator;
import dev.banyan.mpi.ProcessGroup;
import dev.banyan.mpi.World;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.study.text.Numbers;
import dev.banyan.study.workload.Workload;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Plays backward passes of a model on stores that span the processes which mpirun started, in all designs by turns, so
 * that a machine's drift meets all alike. The first process reports; a step's time is that of the slowest.
 */
public record WorldBench(MachineOptions options) {
    /** Types of stores that span processes. */
    private static final List<StoreType> TYPES =
            Arrays.stream(StoreType.values()).filter(StoreType::overProcesses).toList();

    private static final int ROUNDS = 10;
    private static final long COMPARED_BYTES = 64 << 20;

    /** A design under measurement. */
    private static final class Design implements AutoCloseable {
        final StoreType type;
        final KVStore store;
        final List<Key> keys;
        final BackwardPass pass;
        final long[] alone;
        final long[] together;
        long wrong;

        Design(StoreType type, Communicator local, Gradients gradients, int rounds) {
            this.type = type;
            store = KVStore.builder(local).type(type).open();
            keys = gradients.init(store);
            pass = new BackwardPass(store, keys, gradients.keys());
            alone = new long[rounds];
            together = new long[rounds];
        }

        @Override
        public void close() {
            store.close();
        }
    }

    /**
     * Returns the number of wrong elements of this process.
     *
     * @param first the design that is reported first
     * @param computeMs time over which gradients are released
     * @param rounds timed rounds, or null for as many as are usual
     * @param devices of this process
     */
    public long run(
            Workload workload,
            StoreType first,
            double computeMs,
            @Nullable Integer rounds,
            int devices,
            Reporter reporter) {
        ChosenMachine machine =
                options.choose(devices).with(IntStream.range(0, devices).toArray());
        Config config = Config.load();
        World world = World.open(config);
        boolean reports = world.rank() == 0;
        HostSite site = new HostSite(machine);
        if (reports) {
            reporter.introduce(machine, site.devices(), site.platform(), config.warnings());
        }
        List<StepTimes> results;
        List<String> lines;
        try (Arena arena = Arena.ofShared();
                Communicator local = Communicator.onHost(machine.machine(), config)) {
            Gradients gradients =
                    Gradients.allocate(arena, workload, site, world.rank() * devices, world.size() * devices);
            results = measure(world, local, workload, first, computeMs, rounds == null ? ROUNDS : rounds, gradients);
            lines = lines(world, devices, results);
            if (world.size() > 1) {
                lines.add(hierarchy(world, local, arena));
            }
        }
        world.finish();
        if (reports) {
            reporter.lines(lines);
            reporter.result(results);
        }
        return results.stream().mapToLong(StepTimes::wrong).sum();
    }

    private static List<StepTimes> measure(
            World world,
            Communicator local,
            Workload workload,
            StoreType first,
            double computeMs,
            int rounds,
            Gradients gradients) {
        Duration compute = Duration.ofNanos(Math.round(computeMs * 1e6));
        List<Design> designs = new ArrayList<>();
        for (StoreType type :
                Stream.concat(Stream.of(first), TYPES.stream()).distinct().toList()) {
            designs.add(new Design(type, local, gradients, rounds));
        }
        for (Design design : designs) {
            design.wrong = world.all()
                    .combine(
                            gradients.wrongAfter(() -> design.store
                                    .pushPullAll(design.keys, gradients.keys(), gradients.keys(), 0)
                                    .join()),
                            ReduceOp.SUM);
            step(world, design, compute);
        }
        for (int round = 0; round < rounds; round++) {
            // To and fro, so that none always comes after the same one.
            for (Design design : round % 2 == 0 ? designs : designs.reversed()) {
                design.alone[round] = step(world, design, Duration.ZERO);
                design.together[round] = step(world, design, compute);
            }
        }
        designs.forEach(Design::close);
        return designs.stream()
                .map(design -> {
                    Overlap median = new Overlap(
                            computeMs * 1e3,
                            Measurement.median(design.alone) / 1e3,
                            Measurement.median(design.together) / 1e3);
                    return StepTimes.of(
                            workload, design.type.label(), world.size(), local.size(), median, design.wrong, rounds);
                })
                .toList();
    }

    /** Time of the slowest process in ns. */
    private static long step(World world, Design design, Duration compute) {
        world.all().barrier();
        return world.all().combine(design.pass.step(compute), ReduceOp.MAX);
    }

    /** Measures the cost of the hierarchy beyond the call between processes. */
    private static String hierarchy(World world, Communicator local, Arena arena) {
        List<MemorySegment> buffers = IntStream.range(0, local.size())
                .mapToObj(_ -> arena.allocate(COMPARED_BYTES, 64))
                .toList();
        long count = COMPARED_BYTES / Float.BYTES;
        long[] bare = new long[ROUNDS];
        long[] through = new long[ROUNDS];
        try (HierarchicalCommunicator hierarchy = HierarchicalCommunicator.create(world, local);
                ProcessGroup group = world.all().duplicate()) {
            for (int round = -2; round < ROUNDS; round++) {
                long alone = timed(world, () -> group.allReduce(buffers.getFirst(), count, DataType.F32, ReduceOp.SUM));
                long whole = timed(world, () -> hierarchy.allReduce(buffers, count, DataType.F32, ReduceOp.SUM));
                if (round >= 0) {
                    bare[round] = alone;
                    through[round] = whole;
                }
            }
        }
        double alone = Measurement.median(bare) / 1e6;
        double whole = Measurement.median(through) / 1e6;
        return Numbers.format(
                "# all_reduce of 64 MiB: %.1f ms over one array of each process, %.1f ms over %s of each, %.2f times"
                        + " as long",
                alone, whole, Numbers.count(local.size(), "device"), whole / alone);
    }

    private static long timed(World world, Runnable call) {
        world.all().barrier();
        long start = System.nanoTime();
        call.run();
        return world.all().combine(System.nanoTime() - start, ReduceOp.MAX);
    }

    private static List<String> lines(World world, int devices, List<StepTimes> results) {
        StepTimes first = results.getFirst();
        List<String> lines = new ArrayList<>();
        lines.add(Numbers.format(
                "# %s, %s of %s; workload %s: %d keys, %d bytes on each device, released over %.1f ms,"
                        + " the last layer first; medians of %d rounds",
                world.version(),
                Numbers.count(world.size(), "process"),
                Numbers.count(devices, "device"),
                first.workload(),
                first.keys(),
                first.bytes(),
                first.computeMs(),
                first.rounds()));
        lines.addAll(StepTimes.table(results));
        return lines;
    }
}
