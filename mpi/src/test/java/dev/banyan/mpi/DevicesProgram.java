package dev.banyan.mpi;

import static dev.banyan.mpi.WorldProgram.require;

import dev.banyan.config.Config;
import dev.banyan.cuda.type.CudaStreams;
import dev.banyan.kvstore.KVStore;
import dev.banyan.kvstore.Key;
import dev.banyan.kvstore.StoreType;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.backend.Backend;
import dev.banyan.reduce.internal.CallQueue;
import dev.banyan.reduce.optimizer.Optimizer;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.plan.SizeRules;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.Machine;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;

/**
 * The CUDA backend inside each process, over the emulated driver: memory of devices that has to get to MPI and
 * back.
 */
final class DevicesProgram {
    private static final int DEVICES = 2;
    /** Hierarchies of processes that share their GPUs, which share out the types and operations. */
    private static final int ROUNDS = 4;

    private static final long[] COUNTS = {0, 1, 4099};
    /** Several pieces of the memory of the host that leaders have, the last one short. */
    private static final long LONG = (9 << 20) / Double.BYTES + 7;

    /** The function of the driver that copies memory of devices to the host. */
    private static final String COPIES = "calls cuMemcpyDtoHAsync";

    /** The function of the driver by which collectives wait for what is in callers' streams. */
    private static final String JOINS = "calls cuStreamWaitEvent";

    /** The end of a message about memory of devices. */
    private static final String REMEDY = "by BANYAN_MPI_DEVICE_MEMORY=1";

    private interface AllReduce {
        void run(List<MemorySegment> buffers, long count, DataType type, ReduceOp op);
    }

    private final World world;
    private final Communicator local;
    private final List<MemorySegment> memory;
    private int rounds;
    private long cases;

    private DevicesProgram(World world, Communicator local) {
        this.world = world;
        this.local = local;
        memory = IntStream.range(0, DEVICES)
                .mapToObj(device -> local.allocate(device, LONG * Double.BYTES + Long.BYTES))
                .toList();
    }

    /** Returns the number of cases of a part that passed. */
    static long run(World world, String part) throws InterruptedException {
        Machine machine = Machine.preset("p3.16xlarge").subset(0, 1);
        Config config = Config.builder()
                .set(Planner.ALGORITHM, SizeRules.always(AlgorithmChoice.STAR))
                .load();
        boolean apart = part.equals("apart") || part.equals("gpus-of-machines");
        int first = apart ? DEVICES * world.rank() : 0;
        long cases;
        try (Backend backend = Communicator.gpuBackend(machine, config, first, first + 1);
                Communicator local = Communicator.create(machine, config, backend)) {
            DevicesProgram program = new DevicesProgram(world, local);
            switch (part) {
                case "gpus" -> program.everything();
                case "apart" -> program.apart();
                case "gpus-of-machines" -> program.machines();
                case "taken", "copied" -> program.choice(part.equals("taken"));
                default -> throw new IllegalArgumentException(part);
            }
            cases = program.cases;
        }
        require(emulated("problems") == 0, "the emulated driver has no complaint");
        require(emulated("host allocations") == 0, "the backend frees all pinned memory");
        return cases;
    }

    private void everything() throws InterruptedException {
        for (Leaders leaders : List.of(Leaders.ONE, Leaders.EACH)) {
            // The emulated devices' memory is the process's, so that any MPI takes it.
            for (boolean takesDeviceMemory : new boolean[] {false, true}) {
                hierarchy(leaders, takesDeviceMemory);
            }
        }
        for (String type : List.of("funnel", "concum", "depcha")) {
            store(type);
        }
        failingClose();
    }

    /** Each process has GPUs of its own, which reach those of the others. */
    private void apart() {
        try (HierarchicalCommunicator communicator = HierarchicalCommunicator.create(world, local)) {
            everyKind(communicator::allReduce);
            exact(communicator::allReduce, 100_003, DataType.F64, ReduceOp.SUM);
            long before = emulated(COPIES);
            communicator.allReduce(memory, 4099, DataType.F32, ReduceOp.SUM);
            require(emulated(COPIES) == before, "no array goes through the host");
            require(communicator.joinsDevices(), "the GPUs are joined");
            inStreams(communicator, DataType.F32, ReduceOp.SUM);
            inStreams(communicator, DataType.I32, ReduceOp.AVG);
            requireRefused(
                    () -> {
                        var _ = communicator.enqueueAll(
                                List.of(CollectiveCall.broadcast(memory, 1, DataType.F32)),
                                CudaStreams.defaults(DEVICES));
                    },
                    "give allreduces in place");
        }
    }

    /**
     * Puts a reduction between other work in streams, of which what comes before does not end until the reduction has
     * its place or, if it is to wait for the GPUs, does so.
     */
    private void inStreams(HierarchicalCommunicator communicator, DataType type, ReduceOp op) {
        int count = 4099;
        CudaStreams streams = CudaStreams.defaults(DEVICES);
        List<MemorySegment> buffers =
                memory.stream().map(buffer -> buffer.asSlice(0, 4L * count)).toList();
        CollectiveCall spread = CollectiveCall.broadcast(buffers, count, type);
        CollectiveCall reduction = CollectiveCall.allReduce(buffers, count, type, op);
        boolean waits = !communicator.joinsDevices() || op == ReduceOp.AVG;
        int sum = 3 * world.size() * (world.size() + 1) * DEVICES;
        int expected = op == ReduceOp.AVG ? sum / (DEVICES * world.size()) : sum;
        // Plans are made while the GPUs work.
        for (boolean isStopped : new boolean[] {false, true}) {
            local.copyToDevice(buffers.get(0), numbers(count, type, 6 * (world.rank() + 1)));
            local.copyToDevice(buffers.get(1), numbers(count, type, 0));
            if (isStopped) {
                tell(waits ? "op kernel 1 hang" : "pause");
            }
            CompletableFuture<Void> before = local.enqueue(spread, streams);
            if (isStopped && waits) {
                long joins = emulated(JOINS);
                CompletableFuture<Void> _ = CompletableFuture.runAsync(() -> releaseAfter(joins));
            }
            CompletableFuture<Void> ended = communicator.enqueueAll(List.of(reduction), streams);
            CompletableFuture<Void> after = local.enqueue(spread, streams);
            if (isStopped && !waits) {
                require(!ended.isDone(), "a reduction ends after the work before it");
                tell("resume");
            }
            CompletableFuture.allOf(before, ended, after).join();
            for (MemorySegment buffer : buffers) {
                MemorySegment found = numbers(count, type, 0);
                local.copyToHost(buffer, found);
                require(
                        found.mismatch(numbers(count, type, expected)) == -1,
                        "each of " + count + " " + type + " by " + op + " in streams is " + expected);
            }
        }
        cases++;
    }

    /** Lets work go on when something has joined the callers' streams. */
    private static void releaseAfter(long joins) {
        while (emulated(JOINS) == joins) {
            Thread.yield();
        }
        tell("release 0");
    }

    /** Returns a number several times, in host memory. */
    private static MemorySegment numbers(int count, DataType type, int number) {
        int bits = type == DataType.F32 ? Float.floatToIntBits(number) : number;
        return MemorySegment.ofArray(IntStream.generate(() -> bits).limit(count).toArray());
    }

    /** The same, played as machines of two processes each, and of one where their number is odd. */
    private void machines() {
        MpiProcesses all = new MpiProcesses(world, world.mpi().handle("ompi_mpi_comm_world")).duplicate();
        Duration timeout = world.config().get(Communicator.TIMEOUT);
        try (Arena arena = Arena.ofShared();
                CallQueue copies = new CallQueue("copies", timeout, Duration.ZERO);
                MachineDevices gpus = Objects.requireNonNull(MachineDevices.join(
                        world,
                        all,
                        all.split(all.rank() / 2),
                        local,
                        leading -> new Between.Staged(List.of(leading), DEVICES * all.size(), local, copies, arena)))) {
            AllReduce reduction = (buffers, count, type, op) ->
                    gpus.run(CollectiveCall.of(Collective.ALL_REDUCE, -1, count, type, op, buffers));
            for (Sample sample : Sample.ofRound(0, ROUNDS, DEVICES * world.size())) {
                if (!sample.isIntegerMean()) {
                    exact(reduction, 4099, sample.type(), sample.op());
                }
            }
            exact(reduction, LONG / 2, DataType.F64, ReduceOp.AVG);
            long before = emulated(COPIES);
            gpus.run(CollectiveCall.of(Collective.ALL_REDUCE, -1, 4099, DataType.F32, ReduceOp.SUM, memory));
            long copied = emulated(COPIES) - before;
            boolean leads = world.rank() % 2 == 0;
            require((copied > 0) == leads, copied + " pieces go from this process to the host");
        }
        all.close();
    }

    /**
     * Checks the decisions of a world's settings.
     *
     * @param taken whether MPI must get memory of devices
     */
    private void choice(boolean taken) {
        require(world.takesDeviceMemory() == taken, "MPI takes memory of devices: " + taken);
        MemorySegment buffer = memory.getFirst();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment host = arena.allocateFrom(ValueLayout.JAVA_FLOAT, 2, 3);
            local.copyToDevice(buffer, host);
            if (taken) {
                world.all().allReduce(buffer, 2, DataType.F32, ReduceOp.SUM);
                world.all().broadcast("an array", buffer, 2, DataType.F32, 0);
            } else {
                requireRefused(() -> world.all().allReduce(buffer, 2, DataType.F32, ReduceOp.SUM), REMEDY);
                requireRefused(() -> world.all().broadcast("an array", buffer, 2, DataType.F32, 0), REMEDY);
            }
            requireRefused(() -> world.all().allReduce(buffer, 2, DataType.F32, ReduceOp.AVG), REMEDY);
            local.copyToHost(buffer, host);
            require(host.getAtIndex(ValueLayout.JAVA_FLOAT, 1) == 3, "a world of one process keeps its sums");
        }
        cases++;
        try (HierarchicalCommunicator communicator = HierarchicalCommunicator.create(world, local)) {
            // The first call tries the peers, by copies of its own.
            communicator.allReduce(memory, 4099, DataType.F32, ReduceOp.SUM);
            long before = emulated(COPIES);
            communicator.allReduce(memory, 4099, DataType.F32, ReduceOp.SUM);
            require((emulated(COPIES) > before) != taken, "arrays are copied for MPI, or MPI takes them");
            exact(communicator::allReduce, 4099, DataType.F32, ReduceOp.SUM);
        }
        try (KVStore store = KVStore.builder(local).type(StoreType.DEPCHA).open()) {
            store.init(Key.of(0), MemorySegment.ofArray(new float[] {2, 3}), 2, DataType.F32);
            List<MemorySegment> key =
                    memory.stream().map(array -> array.asSlice(0, 8)).toList();
            long before = emulated(COPIES);
            store.pushPull(Key.of(0), key, key).join();
            require((emulated(COPIES) > before) != taken, "keys are copied for MPI, or MPI takes them");
        }
        store("depcha");
    }

    /** @param remedy the end of the message */
    private static void requireRefused(Runnable call, String remedy) {
        try {
            call.run();
        } catch (IllegalArgumentException e) {
            require(String.valueOf(e.getMessage()).endsWith(remedy), "the message names the remedy: " + e.getMessage());
            return;
        }
        throw new AssertionError("not so: a call is refused");
    }

    private static long emulated(String count) {
        try (Arena arena = Arena.ofConfined()) {
            return (long) driver("banyan_emu_count", ValueLayout.JAVA_LONG).invokeExact(arena.allocateFrom(count));
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static void tell(String command) {
        int bad;
        try (Arena arena = Arena.ofConfined()) {
            bad = (int) driver("banyan_emu_command", ValueLayout.JAVA_INT).invokeExact(arena.allocateFrom(command));
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
        require(bad == 0, "the emulated driver understands " + command);
    }

    @SuppressWarnings("restricted")
    private static MethodHandle driver(String function, ValueLayout result) {
        return Linker.nativeLinker()
                .downcallHandle(
                        SymbolLookup.libraryLookup("libcuda.so.1", Arena.global())
                                .find(function)
                                .orElseThrow(),
                        FunctionDescriptor.of(result, ValueLayout.ADDRESS));
    }

    private void hierarchy(Leaders leaders, boolean takesDeviceMemory) {
        long before = emulated("host allocations");
        try (HierarchicalCommunicator communicator =
                new HierarchicalCommunicator(world, local, leaders, takesDeviceMemory, world.sharesMemory())) {
            int pieces = leaders == Leaders.ONE ? 2 : 2 * DEVICES;
            require(emulated("host allocations") == before + pieces, "each leader has two pieces of pinned memory");
            everyKind(communicator::allReduce);
            // A leader alone has the most pieces, and uses its memory of the host again.
            if (!takesDeviceMemory && leaders == Leaders.ONE) {
                exact(communicator::allReduce, LONG, DataType.F64, ReduceOp.SUM);
            }
            inStreams(communicator, DataType.F32, ReduceOp.SUM);
        }
    }

    private void everyKind(AllReduce reduction) {
        for (Sample sample : Sample.ofRound(rounds++, ROUNDS, DEVICES * world.size())) {
            exact(reduction, sample.oneOf(COUNTS), sample.type(), sample.op());
        }
    }

    private void exact(AllReduce reduction, long count, DataType type, ReduceOp op) {
        Sample sample = new Sample(type, op, DEVICES * world.size());
        // One element behind where vectors begin.
        List<MemorySegment> buffers = memory.stream()
                .map(buffer -> buffer.asSlice(type.bytes(), count * type.bytes()))
                .toList();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment host = arena.allocate(count * type.bytes(), Long.BYTES);
            for (int device = 0; device < DEVICES; device++) {
                sample.fill(host, world.rank() * DEVICES + device, count);
                local.copyToDevice(buffers.get(device), host);
            }
            reduction.run(buffers, count, type, op);
            for (MemorySegment buffer : buffers) {
                local.copyToHost(buffer, host);
                long wrong = sample.wrong(host, count);
                require(wrong == 0, wrong + " wrong of " + count + " " + type + " by " + op);
            }
        }
        cases++;
    }

    /** A close that fails, as another process reduces meanwhile, closes all other parts and keeps the pinned memory. */
    private void failingClose() throws InterruptedException {
        long before = emulated("host allocations");
        HierarchicalCommunicator communicator =
                new HierarchicalCommunicator(world, local, Leaders.ONE, false, world.sharesMemory());
        long pieces = emulated("host allocations") - before;
        exact(communicator::allReduce, 1, DataType.F32, ReduceOp.SUM);
        if (world.rank() == 0) {
            requireOrderException(communicator::close);
            communicator.close();
            // A thread of a queue that was left open would never end.
            for (Thread thread : Thread.getAllStackTraces().keySet()) {
                if (thread.getName().startsWith("banyan-hierarchy-")) {
                    thread.join();
                }
            }
        } else {
            requireOrderException(() -> communicator.allReduce(memory, 1, DataType.F32, ReduceOp.SUM));
        }
        require(emulated("host allocations") == before + pieces, "memory that a call may still use is kept");
        cases++;
    }

    private static void requireOrderException(Runnable call) {
        try {
            call.run();
        } catch (OrderException e) {
            return;
        }
        throw new AssertionError("not so: the order differs");
    }

    /** Push-pulls of keys that overlap, and pushes with an updater. */
    private void store(String type) {
        int all = DEVICES * world.size();
        int keys = 12;
        int count = 1001;
        List<MemorySegment> sliced = IntStream.range(0, keys)
                .boxed()
                .flatMap(key -> memory.stream().map(buffer -> buffer.asSlice(4096L * key, 4L * count)))
                .toList();
        try (Arena arena = Arena.ofConfined();
                KVStore plain = KVStore.builder(local).type(StoreType.of(type)).open();
                KVStore updated = KVStore.builder(local)
                        .type(StoreType.of(type))
                        .optimizer(Optimizer.sgd(0.5))
                        .open()) {
            MemorySegment host = arena.allocate(ValueLayout.JAVA_FLOAT, count);
            for (int key = 0; key < keys; key++) {
                for (int i = 0; i < count; i++) {
                    host.setAtIndex(ValueLayout.JAVA_FLOAT, i, key + i % 3);
                }
                plain.init(Key.of(key), host, count, DataType.F32);
                updated.init(Key.of(key), host, count, DataType.F32);
                local.copyToDevice(sliced.get(2 * key), host);
                local.copyToDevice(sliced.get(2 * key + 1), host);
            }
            for (int round = 1; round <= 2; round++) {
                CompletableFuture.allOf(IntStream.range(0, keys)
                                .mapToObj(key -> plain.pushPull(
                                        Key.of(key),
                                        sliced.subList(2 * key, 2 * key + 2),
                                        sliced.subList(2 * key, 2 * key + 2)))
                                .toArray(CompletableFuture<?>[]::new))
                        .join();
                requireAll(sliced, host, Math.pow(all, round), type);
            }
            for (int key = 0; key < keys; key++) {
                CompletableFuture<Void> _ = updated.push(Key.of(key), sliced.subList(2 * key, 2 * key + 2));
            }
            CompletableFuture.allOf(IntStream.range(0, keys)
                            .mapToObj(key -> updated.pull(Key.of(key), sliced.subList(2 * key, 2 * key + 2)))
                            .toArray(CompletableFuture<?>[]::new))
                    .join();
            requireAll(sliced, host, 1 - Math.pow(all, 3) / 2, type + " with an updater");
        }
        cases++;
    }

    private void requireAll(List<MemorySegment> sliced, MemorySegment host, double factor, String what) {
        for (int array = 0; array < sliced.size(); array++) {
            local.copyToHost(sliced.get(array), host);
            for (int i = 0; i < host.byteSize() / Float.BYTES; i++) {
                float found = host.getAtIndex(ValueLayout.JAVA_FLOAT, i);
                double expected = factor * (array / DEVICES + i % 3);
                require(found == expected, what + ": element " + i + " is " + found + ", not " + expected);
            }
        }
    }
}
