package dev.banyan.export.mscclpp;

import dev.banyan.InputException;
import dev.banyan.config.internal.json.JsonValue;
import dev.banyan.export.mscclpp.MscclppPlan.Block;
import dev.banyan.export.mscclpp.MscclppPlan.Gpu;
import dev.banyan.export.mscclpp.MscclppPlan.Loop;
import dev.banyan.export.mscclpp.MscclppPlan.Operation;
import dev.banyan.export.mscclpp.MscclppPlan.Reference;
import dev.banyan.export.mscclpp.MscclppPlan.Remote;
import dev.banyan.schedule.type.Collective;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Reads execution plans of MSCCL++ of the format of 0.8.0 and later: protocol Simple over memory channels. It checks
 * each index and limit, of which the runtime checks few; {@link PlanTrace} checks what operations do together.
 */
public final class PlanReader {
    private static final int MOST_RANKS = 64;
    private static final int MOST_CHUNKS = 1 << 16;
    private static final int MOST_BLOCKS = 128;
    private static final Map<String, Collective> COLLECTIVES = Stream.of(
                    Collective.ALL_REDUCE, Collective.ALL_GATHER, Collective.REDUCE_SCATTER, Collective.BROADCAST)
            .collect(Collectors.toMap(MscclppPlan::label, collective -> collective));
    private static final Set<String> SYNCHRONISATION = Set.of("signal", "wait", "rlxsignal", "rlxwait");
    private static final Set<String> DATA = Set.of("copy", "put", "re", "res", "rre", "rres");

    private final JsonValue root;
    private int ranks;
    private boolean reused;

    private PlanReader(JsonValue root) {
        this.root = root;
    }

    /** Returns whether a text looks like such a plan. */
    public static boolean recognizes(String text) {
        return text.stripLeading().startsWith("{") && text.contains("\"gpus\"");
    }

    /**
     * Reads a plan.
     *
     * @param source name of the file, for messages
     * @throws InputException if it is not a plan, exceeds a limit or needs what is not read; the message says where
     */
    public static MscclppPlan read(String source, String text) {
        return new PlanReader(JsonValue.parse(source, "the plan", text)).plan();
    }

    private MscclppPlan plan() {
        if (root.has("collective") && !root.has("inplace")) {
            throw root.refuse("is a plan in the format before MSCCL++ 0.8.0, which newer ones refuse; write it anew");
        }
        String label = root.get("collective").string();
        Collective collective = Optional.ofNullable(COLLECTIVES.get(label))
                .orElseThrow(() -> root.get("collective")
                        .refuse("is for the collective " + label + "; only " + new TreeSet<>(COLLECTIVES.keySet())
                                + " can be read"));
        if (root.get("protocol").string().equals("LL")) {
            throw root.get("protocol").refuse("uses the protocol LL, whose packets are not read; take a Simple plan");
        }
        if (flag(root, "use_double_scratch_buffer")) {
            throw root.refuse("uses two scratch buffers by turns, which is not read; take a plan with one");
        }
        reused = flag(root, "reuse_resources");
        List<JsonValue> list = root.list("gpus");
        ranks = list.size();
        if (ranks < 1 || ranks > MOST_RANKS) {
            throw root.refuse("has " + ranks + " GPUs; 1 to " + MOST_RANKS + " can be read");
        }
        List<Gpu> gpus = new ArrayList<>();
        for (JsonValue gpu : list) {
            gpu.get("id").integer(gpus.size(), gpus.size());
            gpus.add(gpu(gpu, gpus.size()));
        }
        Gpu first = gpus.getFirst();
        for (int rank = 0; rank < ranks; rank++) {
            Gpu gpu = gpus.get(rank);
            if (gpu.inputChunks() != first.inputChunks()
                    || gpu.outputChunks() != first.outputChunks()
                    || gpu.scratchChunks() != first.scratchChunks()) {
                throw list.get(rank).refuse("has other numbers of chunks than GPU 0; make them equal");
            }
        }
        int factor = collective == Collective.ALL_GATHER ? first.outputChunks() : first.inputChunks();
        int other = collective == Collective.ALL_GATHER ? first.inputChunks() : first.outputChunks();
        boolean blocks = collective == Collective.ALL_GATHER || collective == Collective.REDUCE_SCATTER;
        if (factor != other * (blocks ? ranks : 1)) {
            throw list.getFirst()
                    .refuse("has " + first.inputChunks() + " input and " + first.outputChunks()
                            + " output chunks, which does not fit " + label + " over " + ranks + " ranks");
        }
        // The runtime's own default is 2^64 - 1.
        long most = root.has("max_message_size") && root.get("max_message_size").number() < 0x1p63
                ? root.get("max_message_size").integer(1, Long.MAX_VALUE)
                : Long.MAX_VALUE;
        if (reused && first.scratchChunks() > 0 && most / factor > MscclppPlan.SCRATCH_BYTES / first.scratchChunks()) {
            throw root.refuse("reuses 64 MiB of scratch memory, which " + first.scratchChunks()
                    + " chunks of the greatest message exceed; lower max_message_size");
        }
        return new MscclppPlan(
                root.get("name").string(),
                collective,
                root.get("inplace").truth(),
                root.has("min_message_size") ? root.get("min_message_size").integer(0, Integer.MAX_VALUE) : 0,
                most,
                gpus);
    }

    private Gpu gpu(JsonValue json, int rank) {
        List<Integer> channels = new ArrayList<>();
        json.get("channels");
        for (JsonValue channel : json.list("channels")) {
            memory(channel, "channel_type");
            channels.addAll(numbers(channel, "connected_to", ranks - 1));
        }
        if (channels.contains(rank)) {
            throw json.refuse("has a channel of GPU " + rank + " to itself; remove it");
        }
        json.get("remote_buffers");
        List<Remote> remotes = new ArrayList<>();
        for (JsonValue remote : json.list("remote_buffers")) {
            String type = type(remote);
            if (reused && !type.equals("s")) {
                throw remote.refuse("accesses another rank's input or output, which reuse_resources does not register;"
                        + " access scratch memory alone");
            }
            remotes.add(new Remote((int) remote.get("rank").integer(0, ranks - 1), type));
        }
        int[] chunks = {
            (int) json.get("input_chunks").integer(1, MOST_CHUNKS),
            (int) json.get("output_chunks").integer(1, MOST_CHUNKS),
            (int) json.get("scratch_chunks").integer(0, MOST_CHUNKS)
        };
        List<Block> blocks = new ArrayList<>();
        for (JsonValue block : json.list("threadblocks")) {
            block.get("id").integer(blocks.size(), Math.min(blocks.size(), MOST_BLOCKS - 1));
            blocks.add(block(block, channels, remotes, chunks));
        }
        return new Gpu(chunks[0], chunks[1], chunks[2], channels, remotes, blocks);
    }

    private Block block(JsonValue json, List<Integer> channels, List<Remote> remotes, int[] chunks) {
        List<Integer> ownChannels = new ArrayList<>();
        for (JsonValue group : json.list("channels")) {
            memory(group, "channel_type");
            ownChannels.addAll(numbers(group, "channel_ids", channels.size() - 1));
        }
        List<Integer> ownRemotes = new ArrayList<>();
        for (JsonValue group : json.list("remote_buffer_refs")) {
            memory(group, "access_channel_type");
            ownRemotes.addAll(numbers(group, "remote_buffer_ids", remotes.size() - 1));
        }
        if (ownChannels.size() > MscclppPlan.MOST_CHANNELS || ownRemotes.size() > MscclppPlan.MOST_CHANNELS) {
            throw json.refuse("has " + ownChannels.size() + " channels and " + ownRemotes.size()
                    + " remote buffers in a thread block; the executor takes " + MscclppPlan.MOST_CHANNELS
                    + " of each");
        }
        Scope scope = new Scope(ownChannels.size(), ownRemotes, chunks);
        List<Operation> operations = new ArrayList<>();
        int count = 0;
        for (JsonValue operation : json.list("ops")) {
            operations.add(operation(operation, scope));
            count += 1 + operation.list("ops").size();
        }
        if (count > MscclppPlan.MOST_OPERATIONS) {
            throw json.refuse("has " + count + " operations in a thread block; the executor takes "
                    + MscclppPlan.MOST_OPERATIONS);
        }
        return new Block(ownChannels, ownRemotes, operations);
    }

    /** The things to which operations of a block may refer. */
    private record Scope(int channels, List<Integer> remotes, int[] chunks) {}

    private static Operation operation(JsonValue json, Scope scope) {
        String name = json.get("name").string();
        if (json.has("tbg_info")) {
            throw json.refuse("cuts chunks between thread blocks (tbg_info), which is not read; use whole chunks");
        }
        if (name.equals("pipeline")) {
            JsonValue context = json.get("iter_context");
            int chunks = (int) context.get("num_chunks").integer(1, MOST_CHUNKS);
            List<Operation> body = new ArrayList<>();
            for (JsonValue inner : json.list("ops")) {
                Operation operation = operation(inner, scope);
                if (operation.loop() != null) {
                    throw inner.refuse("has a pipeline within a pipeline; put them one behind another");
                }
                Stream.concat(operation.sources().stream(), operation.targets().stream())
                        .filter(reference -> reference.size() != chunks)
                        .findFirst()
                        .ifPresent(reference -> {
                            throw inner.refuse("covers " + reference.size() + " chunks in a pipeline of " + chunks
                                    + "; make them equal, since shorter ones wrap around");
                        });
                body.add(operation);
            }
            return new Operation(
                    name,
                    List.of(),
                    List.of(),
                    List.of(),
                    new Loop(context.get("unit_size").integer(MscclppPlan.ALIGNMENT, Integer.MAX_VALUE), chunks, body));
        }
        if (SYNCHRONISATION.contains(name)) {
            memory(json, "channel_type");
            List<Integer> ids = numbers(json, "channel_ids", scope.channels - 1);
            if (ids.isEmpty()
                    || ids.size() > MscclppPlan.MOST_CHANNELS_AT_ONCE
                    || new HashSet<>(ids).size() < ids.size()) {
                throw json.refuse("names " + ids + " as channels of one operation; name 1 to "
                        + MscclppPlan.MOST_CHANNELS_AT_ONCE + " different ones");
            }
            return new Operation(name, ids, List.of(), List.of(), null);
        }
        if (name.equals("nop")) {
            return Operation.nop();
        }
        if (!DATA.contains(name)) {
            throw json.refuse("has the operation " + name + ", which is not read; known are " + new TreeSet<>(DATA)
                    + ", nop, pipeline, signal, wait, rlxsignal and rlxwait");
        }
        return data(json, name, scope);
    }

    private static Operation data(JsonValue json, String name, Scope scope) {
        List<Reference> sources = references(json, "src_buff", scope);
        List<Reference> targets = references(json, "dst_buff", scope);
        boolean each = name.equals("put") || name.equals("copy");
        boolean stores = name.equals("res") || name.equals("rres");
        boolean right = each
                ? sources.size() == targets.size() && (name.equals("put") || sources.size() == 1)
                : stores ? targets.size() > 1 : targets.size() == 1;
        right &= IntStream.range(0, sources.size())
                .allMatch(i -> sources.get(i).isOwn() == (!name.startsWith("rre") || i == 0));
        right &= IntStream.range(0, targets.size())
                .allMatch(i -> targets.get(i).isOwn() == (name.equals("copy") || (!name.equals("put") && i == 0)));
        right &= !name.equals("put")
                || sources.stream().map(Reference::type).distinct().count() == 1;
        right &= Stream.concat(sources.stream(), targets.stream())
                        .mapToInt(Reference::size)
                        .distinct()
                        .count()
                == 1;
        if (!right) {
            throw json.refuse("has sources and targets that do not fit " + name
                    + ": they differ in length, or are own memory where remote belongs, or are too few");
        }
        return new Operation(name, List.of(), sources, targets, null);
    }

    private static List<Reference> references(JsonValue json, String key, Scope scope) {
        List<Reference> references = new ArrayList<>();
        for (JsonValue value : json.list(key)) {
            int index = (int) value.get("index").integer(0, MOST_CHUNKS);
            int size = (int) value.get("size").integer(1, MOST_CHUNKS);
            boolean remote = value.has("buffer_id");
            String type = remote ? "" : type(value);
            int position = remote ? (int) value.get("buffer_id").integer(0, scope.remotes.size() - 1) : -1;
            // All ranks have equal numbers of chunks; a remote buffer is scratch memory or checked by the trace.
            int limit = remote ? MOST_CHUNKS : scope.chunks["ios".indexOf(type)];
            if (index + size > limit) {
                throw value.refuse("reaches chunk " + (index + size - 1) + " of " + limit + "; stay inside");
            }
            references.add(new Reference(type, position, index, size));
        }
        if (references.isEmpty() || references.size() > MscclppPlan.MOST_OPERANDS) {
            throw json.refuse("has " + references.size() + " entries in " + key + "; 1 to " + MscclppPlan.MOST_OPERANDS
                    + " are possible");
        }
        return references;
    }

    private static List<Integer> numbers(JsonValue json, String key, int most) {
        return json.list(key).stream()
                .map(value -> (int) value.integer(0, most))
                .toList();
    }

    private static boolean flag(JsonValue json, String key) {
        return json.has(key) && json.get(key).truth();
    }

    private static String type(JsonValue json) {
        String type = json.get("type").string();
        if (!Set.of("i", "o", "s").contains(type)) {
            throw json.get("type").refuse("has the buffer type " + type + "; known are i, o and s");
        }
        return type;
    }

    private static void memory(JsonValue json, String key) {
        if (!json.get(key).string().equals("memory")) {
            throw json.get(key)
                    .refuse("has channels of type " + json.get(key).string() + "; only memory channels are read");
        }
    }
}
