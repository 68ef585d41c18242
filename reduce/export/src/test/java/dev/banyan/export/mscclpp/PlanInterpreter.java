package dev.banyan.export.mscclpp;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.IntStream;

/**
 * Runs an MSCCL++ execution plan as its executor does: thread blocks as state machines that take turns at random,
 * counters per channel, launches one behind another on each rank but not between ranks. Memory holds a random number
 * for each cell, so that a sum is right if and only if its terms are. It checks the limits that the executor does not.
 */
final class PlanInterpreter {
    /** A plan that is wrong. */
    static final class Defect extends RuntimeException {
        private static final long serialVersionUID = 1;

        Defect(String message) {
            super(message);
        }
    }

    private static final int MOST_OPERATIONS = 64;
    private static final int MOST_CHANNELS = 16;
    private static final int MOST_CHANNEL_IDS = 8;
    private static final int MOST_BUFFERS = 10;
    private static final long SCRATCH_BYTES = 64L << 20;
    private static final Set<String> DATA = Set.of("copy", "put", "re", "res", "rre", "rres");

    private final List<JsonTree> gpus;
    private final int ranks;
    private final int root;
    private final boolean inPlace;
    private final String collective;
    private final long chunkBytes;
    private final long cellBytes;
    private final int cells;
    private final int inputChunks;
    private final int outputChunks;
    private final int scratchChunks;
    private final Random random;
    private final long[][][] memory;
    /** Signals that have arrived: by rank, then by flattened channel. */
    private final int[][] arrived;

    private final List<List<Integer>> peers = new ArrayList<>();
    private final List<List<Block>> blocks = new ArrayList<>();
    private final int[] launch;
    /** Number of blocks of each rank that have not ended. */
    private final int[] running;

    /** An operation, decoded once; a pipeline has a body and others have none. */
    private record Op(
            String name,
            JsonTree json,
            int[] ids,
            List<JsonTree> from,
            List<JsonTree> to,
            long unit,
            long chunks,
            List<Op> body) {
        static Op of(JsonTree json) {
            boolean loop = json.has("iter_context");
            return new Op(
                    json.text("name"),
                    json,
                    json.numbers("channel_ids").stream()
                            .mapToInt(Integer::intValue)
                            .toArray(),
                    json.list("src_buff"),
                    json.list("dst_buff"),
                    loop ? json.get("iter_context").number("unit_size") : 0,
                    loop ? json.get("iter_context").number("num_chunks") : 0,
                    json.list("ops").stream().map(Op::of).toList());
        }

        boolean isLoop() {
            return name.equals("pipeline");
        }

        boolean waits() {
            return name.endsWith("wait");
        }
    }

    /** A place of some cells: rank, buffer (0 input, 1 output, 2 scratch) and the first cell. */
    private record Range(int rank, int buffer, int first, int length) {
        boolean overlaps(Range other) {
            return rank == other.rank
                    && buffer == other.buffer
                    && first < other.first + other.length
                    && other.first < first + length;
        }
    }

    /**
     * Prepares a run.
     *
     * @param messageBytes bytes of the output of allgather, else of the input
     * @param root the root of a broadcast
     */
    PlanInterpreter(JsonTree plan, long messageBytes, int root, long seed) {
        this.root = root;
        gpus = plan.list("gpus");
        ranks = gpus.size();
        inPlace = plan.flag("inplace");
        collective = plan.text("collective");
        random = new Random(seed);
        plan.text("name");
        require(plan.text("protocol").equals("Simple"), "protocol");
        require(plan.flag("reuse_resources"), "only plans that reuse resources are run");
        require(plan.number("num_threads_per_block") <= 1024, "threads per block");
        require(
                plan.number("min_message_size") <= messageBytes && messageBytes <= plan.number("max_message_size"),
                "message size");
        require(plan.number("min_message_size") < 1L << 31, "the least message size is read as 32 bits");
        JsonTree first = gpus.getFirst();
        inputChunks = (int) first.number("input_chunks");
        outputChunks = (int) first.number("output_chunks");
        scratchChunks = (int) first.number("scratch_chunks");
        require(inputChunks > 0 && outputChunks > 0 && scratchChunks >= 0, "chunk counts");
        long input = collective.equals("allgather") ? messageBytes / ranks : messageBytes;
        long output = collective.equals("reducescatter") ? messageBytes / ranks : messageBytes;
        long alignment = plan.number("buffer_alignment");
        require(input % (alignment * inputChunks) == 0 && output % (alignment * outputChunks) == 0, "divisibility");
        require(input / inputChunks == output / outputChunks, "chunk sizes of input and output differ");
        chunkBytes = input / inputChunks;
        long most = plan.number("max_message_size") / (collective.equals("allgather") ? ranks : 1) / inputChunks;
        require(Math.multiplyExact(most, (long) scratchChunks) <= SCRATCH_BYTES, "scratch exceeds 64 MiB");
        cellBytes = greatestDivisor();
        cells = (int) (chunkBytes / cellBytes);
        memory = new long[ranks][3][];
        arrived = new int[ranks][];
        launch = new int[ranks];
        running = new int[ranks];
        for (int rank = 0; rank < ranks; rank++) {
            JsonTree gpu = gpus.get(rank);
            require(gpu.number("id") == rank, "GPU rank does not match");
            require(
                    gpu.number("input_chunks") == inputChunks
                            && gpu.number("output_chunks") == outputChunks
                            && gpu.number("scratch_chunks") == scratchChunks,
                    "chunk counts differ between ranks");
            List<Integer> flattened = new ArrayList<>();
            for (JsonTree channel : gpu.list("channels")) {
                require(channel.text("channel_type").equals("memory"), "channel type");
                flattened.addAll(channel.numbers("connected_to"));
            }
            int self = rank;
            require(flattened.stream().allMatch(peer -> peer >= 0 && peer < ranks && peer != self), "peer");
            peers.add(flattened);
            arrived[rank] = new int[flattened.size()];
            memory[rank][0] = new long[inputChunks * cells];
            memory[rank][1] = hasOneBuffer() ? memory[rank][0] : new long[outputChunks * cells];
            memory[rank][2] = random.longs((long) scratchChunks * cells).toArray();
            List<Block> own = new ArrayList<>();
            for (JsonTree block : gpu.list("threadblocks")) {
                require(block.number("id") == own.size(), "block ids");
                own.add(new Block(rank, block));
            }
            require(own.size() <= 80, "thread blocks");
            blocks.add(own);
        }
    }

    private long greatestDivisor() {
        long divisor = chunkBytes;
        for (JsonTree gpu : gpus) {
            for (JsonTree block : gpu.list("threadblocks")) {
                for (JsonTree op : block.list("ops")) {
                    if (op.has("iter_context")) {
                        long unit = op.get("iter_context").number("unit_size");
                        while (unit != 0) {
                            long rest = divisor % unit;
                            divisor = unit;
                            unit = rest;
                        }
                    }
                }
            }
        }
        return divisor;
    }

    private static void require(boolean condition, String problem) {
        if (!condition) {
            throw new Defect(problem);
        }
    }

    /** Runs some launches one behind another in a random order. */
    void run(int launches) {
        for (int rank = 0; rank < ranks; rank++) {
            begin(rank);
        }
        Block[] all = blocks.stream().flatMap(List::stream).toArray(Block[]::new);
        int failures = 0;
        while (endLaunches(launches)) {
            // One block goes on for a while, so that orders far from lock step come up as well.
            Block next = all[random.nextInt(all.length)];
            failures = next.canGoOn() ? 0 : failures + 1;
            for (int steps = 1 + random.nextInt(12); steps > 0 && next.canGoOn(); steps--) {
                next.step();
            }
            require(failures < all.length || Arrays.stream(all).anyMatch(Block::canGoOn), "all blocks wait for ever");
        }
        require(
                Arrays.stream(arrived).flatMapToInt(Arrays::stream).allMatch(count -> count == 0),
                "signals are left over");
    }

    /** Ends the launches of all ranks whose blocks have ended, and begins the next ones; false at the end of all. */
    private boolean endLaunches(int launches) {
        boolean more = false;
        for (int rank = 0; rank < ranks; rank++) {
            while (launch[rank] < launches && running[rank] == 0) {
                checkOutput(rank);
                launch[rank]++;
                if (launch[rank] < launches) {
                    begin(rank);
                }
            }
            more |= launch[rank] < launches;
        }
        return more;
    }

    private boolean hasOneBuffer() {
        return inPlace && !collective.equals("allgather") && !collective.equals("reducescatter");
    }

    private void begin(int rank) {
        if (!hasOneBuffer()) {
            Arrays.setAll(memory[rank][1], cell -> random.nextLong());
        }
        for (int cell = 0; cell < memory[rank][0].length; cell++) {
            write(rank, 0, cell, input(launch[rank], rank, cell));
        }
        running[rank] = 0;
        blocks.get(rank).forEach(Block::begin);
    }

    private static long input(int launch, int rank, int cell) {
        long hash = (((long) launch << 10 | rank) << 40 | cell) * 0x9E3779B97F4A7C15L;
        hash = (hash ^ hash >>> 32) * 0xD6E8FEB86659FD93L;
        return hash ^ hash >>> 29;
    }

    private long read(int rank, int buffer, int cell) {
        int shift = shift(rank, buffer);
        return shift < 0 ? memory[rank][buffer][cell] : memory[rank][1 - buffer][shift + cell];
    }

    private void write(int rank, int buffer, int cell, long value) {
        int shift = shift(rank, buffer);
        if (shift < 0) {
            memory[rank][buffer][cell] = value;
        } else {
            memory[rank][1 - buffer][shift + cell] = value;
        }
    }

    /** Place of a smaller buffer within the larger one in place, or -1. */
    private int shift(int rank, int buffer) {
        if (inPlace && buffer == 0 && collective.equals("allgather")) {
            return rank * inputChunks * cells;
        }
        return inPlace && buffer == 1 && collective.equals("reducescatter") ? rank * outputChunks * cells : -1;
    }

    private void checkOutput(int rank) {
        int length = outputChunks * cells;
        for (int cell = 0; cell < length; cell++) {
            long expected = switch (collective) {
                case "allreduce" -> sum(launch[rank], cell);
                case "reducescatter" -> sum(launch[rank], rank * length + cell);
                case "broadcast" -> input(launch[rank], root, cell);
                case "allgather" -> input(launch[rank], cell / (inputChunks * cells), cell % (inputChunks * cells));
                default -> throw new Defect("collective " + collective);
            };
            if (read(rank, 1, cell) != expected) {
                throw new Defect(
                        "launch " + launch[rank] + ": cell " + cell + " of rank " + rank + "'s output is wrong");
            }
        }
    }

    private long sum(int call, int cell) {
        long sum = 0;
        for (int rank = 0; rank < ranks; rank++) {
            sum += input(call, rank, cell);
        }
        return sum;
    }

    /** A thread block. */
    private final class Block {
        private final int rank;
        private final List<Integer> channels = new ArrayList<>();
        private final List<JsonTree> remotes = new ArrayList<>();
        private final List<Op> operations;
        private int at;
        /** Position in the operations of a pipeline, or -1 outside. */
        private int inner;

        private long iteration;
        private boolean ended = true;
        /** Reads and writes since the last nop. */
        private final Map<Range, Boolean> unsynchronised = new HashMap<>();

        private boolean waited;

        Block(int rank, JsonTree json) {
            this.rank = rank;
            for (JsonTree group : json.list("channels")) {
                require(group.text("channel_type").equals("memory"), "channel type of a block");
                for (int id : group.numbers("channel_ids")) {
                    require(id >= 0 && id < peers.get(rank).size(), "channel id " + id);
                    channels.add(id);
                }
            }
            List<JsonTree> known = gpus.get(rank).list("remote_buffers");
            for (JsonTree group : json.list("remote_buffer_refs")) {
                require(group.text("access_channel_type").equals("memory"), "access type");
                for (int id : group.numbers("remote_buffer_ids")) {
                    require(id >= 0 && id < known.size(), "remote buffer id " + id);
                    JsonTree buffer = known.get(id);
                    require(buffer.text("type").equals("s"), "remote buffers are scratch if resources are reused");
                    require(buffer.get("access_channel_types").array().contains("memory"), "access types");
                    require(buffer.number("rank") != rank && buffer.number("rank") < ranks, "remote rank");
                    remotes.add(buffer);
                }
            }
            require(channels.size() <= MOST_CHANNELS && remotes.size() <= MOST_CHANNELS, "16 channels or buffers");
            operations = json.list("ops").stream().map(Op::of).toList();
            int count = operations.stream().mapToInt(op -> 1 + op.body().size()).sum();
            require(count <= MOST_OPERATIONS, "more than 64 operations");
        }

        void begin() {
            at = 0;
            inner = -1;
            iteration = 0;
            unsynchronised.clear();
            waited = false;
            ended = operations.isEmpty();
            running[rank] += ended ? 0 : 1;
        }

        private Op current() {
            Op operation = operations.get(at);
            return operation.isLoop() ? operation.body().get(Math.max(inner, 0)) : operation;
        }

        boolean canGoOn() {
            if (ended) {
                return false;
            }
            Op operation = current();
            return !operation.waits() || Arrays.stream(operation.ids()).allMatch(id -> arrived[rank][channel(id)] > 0);
        }

        private int channel(int id) {
            require(id >= 0 && id < channels.size(), "channel position " + id);
            return channels.get(id);
        }

        void step() {
            Op outer = operations.get(at);
            Op operation = current();
            String name = operation.name();
            switch (name) {
                case "nop" -> {
                    unsynchronised.clear();
                    waited = false;
                }
                case "wait", "rlxwait" -> {
                    checkIds(operation);
                    Arrays.stream(operation.ids()).forEach(id -> arrived[rank][channel(id)]--);
                    waited = true;
                }
                case "signal", "rlxsignal" -> {
                    require(
                            name.equals("rlxsignal") || unsynchronised.isEmpty(),
                            "a signal follows data operations without nop");
                    checkIds(operation);
                    Arrays.stream(operation.ids()).forEach(id -> signal(channel(id)));
                }
                default -> {
                    require(DATA.contains(name), "operation " + name);
                    require(!waited, "a data operation follows a wait without nop");
                    data(name, operation, outer);
                }
            }
            advance(outer);
        }

        private void checkIds(Op operation) {
            require(operation.json().text("channel_type").equals("memory"), "channel type of an operation");
            int[] ids = operation.ids();
            require(ids.length > 0 && ids.length <= MOST_CHANNEL_IDS, "8 channels an operation");
            require(Arrays.stream(ids).distinct().count() == ids.length, "a channel twice in an operation");
        }

        private void advance(Op outer) {
            if (outer.isLoop()) {
                inner = Math.max(inner, 0) + 1;
                if (inner < outer.body().size()) {
                    return;
                }
                inner = -1;
                iteration++;
                long total = Math.ceilDiv(outer.chunks() * chunkBytes, outer.unit());
                require(total <= 65_535, "16-bit iterations");
                if (iteration < total) {
                    return;
                }
                iteration = 0;
            }
            at++;
            ended = at == operations.size();
            running[rank] -= ended ? 1 : 0;
        }

        /** The i-th channel of a to b is paired with the i-th of b to a. */
        private void signal(int channel) {
            int peer = peers.get(rank).get(channel);
            long before = IntStream.range(0, channel)
                    .filter(other -> peers.get(rank).get(other) == peer)
                    .count();
            int[] back = IntStream.range(0, peers.get(peer).size())
                    .filter(other -> peers.get(peer).get(other) == rank)
                    .toArray();
            require(before < back.length, "channel without its other end");
            arrived[peer][back[(int) before]]++;
        }

        private void data(String name, Op operation, Op outer) {
            List<Range> sources = new ArrayList<>();
            List<Range> targets = new ArrayList<>();
            List<JsonTree> from = operation.from();
            List<JsonTree> to = operation.to();
            require(from.size() <= MOST_BUFFERS && to.size() <= MOST_BUFFERS, "10 sources or targets");
            from.forEach(source -> sources.add(range(source, outer)));
            to.forEach(target -> targets.add(range(target, outer)));
            boolean each = name.equals("put") || name.equals("copy");
            require(each ? from.size() == to.size() : !to.isEmpty() && !from.isEmpty(), "sources and targets");
            require(!name.equals("copy") || from.size() == 1, "copy has one source");
            for (int i = 0; i < sources.size(); i++) {
                boolean own = !name.startsWith("rre") || i == 0;
                require(from.get(i).has("type") == own, "the kind of a source");
                require(
                        !name.equals("put")
                                || from.get(i)
                                        .text("type")
                                        .equals(from.getFirst().text("type")),
                        "put");
            }
            for (int i = 0; i < targets.size(); i++) {
                boolean own = name.equals("copy") || (!name.equals("put") && i == 0);
                require(to.get(i).has("type") == own, "the kind of a target");
            }
            require((name.equals("res") || name.equals("rres")) == (!each && to.size() > 1), "re or res");
            int length = sources.getFirst().length();
            sources.forEach(range -> require(range.length() == length, "lengths differ"));
            targets.forEach(range -> require(range.length() == length, "lengths differ"));
            for (Range range : sources) {
                require(
                        unsynchronised.entrySet().stream()
                                .noneMatch(e -> e.getValue() && e.getKey().overlaps(range)),
                        "a read follows a write without nop");
            }
            for (Range range : targets) {
                require(
                        unsynchronised.keySet().stream().noneMatch(other -> other.overlaps(range)),
                        "a write follows an access without nop");
            }
            for (int cell = 0; cell < length; cell++) {
                long sum = 0;
                for (int i = 0; i < sources.size(); i++) {
                    Range source = sources.get(i);
                    long value = read(source.rank(), source.buffer(), source.first() + cell);
                    if (each) {
                        Range target = targets.get(i);
                        write(target.rank(), target.buffer(), target.first() + cell, value);
                    }
                    sum += value;
                }
                if (!each) {
                    for (Range target : targets) {
                        write(target.rank(), target.buffer(), target.first() + cell, sum);
                    }
                }
            }
            sources.forEach(range -> unsynchronised.putIfAbsent(range, false));
            targets.forEach(range -> unsynchronised.put(range, true));
        }

        private Range range(JsonTree reference, Op outer) {
            int owner = rank;
            String type;
            if (reference.has("buffer_id")) {
                int id = (int) reference.number("buffer_id");
                require(id >= 0 && id < remotes.size(), "remote buffer position " + id);
                owner = (int) remotes.get(id).number("rank");
                type = remotes.get(id).text("type");
            } else {
                type = reference.text("type");
            }
            int buffer = "ios".indexOf(type);
            long index = reference.number("index");
            long size = reference.number("size");
            int limit = buffer == 0 ? inputChunks : buffer == 1 ? outputChunks : scratchChunks;
            if (index < 0 || size <= 0 || index + size > limit) {
                throw new Defect("chunks " + index + "+" + size + " of " + type);
            }
            int first = (int) index * cells;
            int length = (int) size * cells;
            if (outer.isLoop()) {
                require(size == outer.chunks(), "a pipeline's operation covers other chunks");
                int unit = (int) (outer.unit() / cellBytes);
                int begin = (int) iteration * unit;
                first += begin;
                length = Math.min(unit, length - begin);
            }
            return new Range(owner, buffer, first, length);
        }
    }
}
