package dev.banyan.msccl;

import java.io.StringReader;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import javax.xml.parsers.DocumentBuilderFactory;
import org.w3c.dom.Element;
import org.w3c.dom.Node;
import org.xml.sax.InputSource;

/**
 * Runs an MSCCL file as the runtime does: every threadblock is a state machine that goes through its steps once
 * per iteration of the loop over the data, connections buffer a bounded number of messages, flags say which
 * step of a threadblock is done. Threadblocks advance in random order. It shares no code with the reader or the
 * writer. An element is a 64-bit number whose operation is a wrapping sum.
 */
final class MscclMachine {
    /** Connections hold nothing: a send is done when it is received. */
    static final int RENDEZVOUS = 0;

    private static final long STEPS = 1 << 20;

    /** The properties that vary from run to run. */
    record Mode(boolean inPlace, int root, int capacity, boolean piecewise, int iterations) {}

    private final Mode mode;
    private final Random random;
    private final String coll;
    private final int ranks;
    private final int chunks;
    private final List<Block> blocks = new ArrayList<>();
    private final Map<String, Deque<long[]>> connections = new HashMap<>();
    /** By rank and threadblock: the last step that was told to be done, counted over iterations. */
    private final Map<List<Integer>, Long> flags = new HashMap<>();

    private final long[][][] inputs;
    private final long[][][] outputs;
    private final long[][][] scratch;
    private final long[][][] originals;

    private record Step(
            String type,
            String source,
            int from,
            String target,
            int to,
            int count,
            int depid,
            int deps,
            boolean tells) {
        static Step of(Element step) {
            return new Step(
                    step.getAttribute("type"),
                    step.getAttribute("srcbuf"),
                    number(step, "srcoff"),
                    step.getAttribute("dstbuf"),
                    number(step, "dstoff"),
                    number(step, "cnt"),
                    number(step, "depid"),
                    number(step, "deps"),
                    number(step, "hasdep") == 1);
        }
    }

    private static final class Block {
        final int rank;
        final Deque<long[]> inbound;
        final Deque<long[]> outbound;
        final int id;
        final List<Step> steps;
        int iteration;
        int step;
        int piece;
        boolean posted;

        Block(int rank, Element tb, Map<String, Deque<long[]>> connections) {
            this.rank = rank;
            id = number(tb, "id");
            String channel = "/" + tb.getAttribute("chan");
            inbound = connections.computeIfAbsent(
                    tb.getAttribute("recv") + ">" + rank + channel, _ -> new ArrayDeque<>());
            outbound = connections.computeIfAbsent(
                    rank + ">" + tb.getAttribute("send") + channel, _ -> new ArrayDeque<>());
            steps = children(tb).stream().map(Step::of).toList();
        }
    }

    private MscclMachine(Element algo, Mode mode, Random random) {
        this.mode = mode;
        this.random = random;
        coll = algo.getAttribute("coll");
        ranks = number(algo, "ngpus");
        chunks = number(algo, "nchunksperloop");
        inputs = new long[ranks][][];
        outputs = new long[ranks][][];
        scratch = new long[ranks][][];
        originals = new long[ranks][][];
        for (Element gpu : children(algo)) {
            int rank = number(gpu, "id");
            inputs[rank] = filled(coll.equals("allgather") ? chunks / ranks : chunks);
            outputs[rank] = filled(coll.startsWith("reduce") && coll.endsWith("scatter") ? chunks / ranks : chunks);
            scratch[rank] = filled(number(gpu, "s_chunks"));
            originals[rank] = Arrays.stream(inputs[rank]).map(long[]::clone).toArray(long[][]::new);
            children(gpu).forEach(tb -> blocks.add(new Block(rank, tb, connections)));
            if (mode.inPlace) {
                alias(rank);
            }
        }
    }

    /** The outermost element. */
    static Element parse(String xml) {
        try {
            return DocumentBuilderFactory.newInstance()
                    .newDocumentBuilder()
                    .parse(new InputSource(new StringReader(xml)))
                    .getDocumentElement();
        } catch (Exception e) {
            throw new AssertionError(xml, e);
        }
    }

    /** Elements inside an element. */
    static List<Element> children(Element parent) {
        List<Element> children = new ArrayList<>();
        for (Node node = parent.getFirstChild(); node != null; node = node.getNextSibling()) {
            if (node instanceof Element element) {
                children.add(element);
            }
        }
        return children;
    }

    /** Returns the violated limit or rule of the runtimes' parsers; an empty text if there is none. */
    static String violation(Element algo) {
        int ranks = number(algo, "ngpus");
        int chunks = number(algo, "nchunksperloop");
        Map<String, Integer> owners = new TreeMap<>();
        if (children(algo).size() != ranks || number(algo, "nchannels") > 32) {
            return "GPUs or channels";
        }
        for (Element gpu : children(algo)) {
            String coll = algo.getAttribute("coll");
            int inputBlocks = coll.equals("allgather") ? ranks : 1;
            int outputBlocks = coll.equals("reducescatter") ? ranks : 1;
            int input = number(gpu, "i_chunks");
            int output = number(gpu, "o_chunks");
            List<Element> blocks = children(gpu);
            int elements = 1 + ranks + blocks.size();
            if ((input > 0 && input * inputBlocks != chunks) || (output > 0 && output * outputBlocks != chunks)) {
                return "i_chunks or o_chunks of GPU " + gpu.getAttribute("id");
            }
            if (blocks.isEmpty() || blocks.size() > 128) {
                return blocks.size() + " threadblocks";
            }
            Map<String, Integer> peers = new HashMap<>();
            for (int b = 0; b < blocks.size(); b++) {
                Element block = blocks.get(b);
                List<Element> steps = children(block);
                elements += steps.size();
                String channel = block.getAttribute("chan");
                for (String end : List.of("send", "recv")) {
                    int peer = number(block, end);
                    if (peer >= 0) {
                        peers.merge(end + channel, 1, Integer::sum);
                        owners.merge(gpu.getAttribute("id") + end + peer + "/" + channel, 1, Integer::sum);
                    }
                }
                if (number(block, "id") != b
                        || number(block, "chan") >= number(algo, "nchannels")
                        || steps.size() > 256) {
                    return "threadblock " + b;
                }
                boolean chained = false;
                for (int s = 0; s < steps.size(); s++) {
                    Element step = steps.get(s);
                    boolean nop = step.getAttribute("type").equals("nop");
                    boolean waits = number(step, "depid") >= 0;
                    if (number(step, "s") != s || (!nop && (number(step, "cnt") < 1 || number(step, "cnt") > 71))) {
                        return "step " + s;
                    }
                    if (chained && !waits) {
                        return "a chain of no-instructions must end in a step that waits";
                    }
                    chained = nop;
                    if (waits
                            && number(
                                            children(blocks.get(number(step, "depid")))
                                                    .get(number(step, "deps")),
                                            "hasdep")
                                    != 1) {
                        return "step " + s + " waits for one that does not tell";
                    }
                    for (String end : List.of("src", "dst")) {
                        String buffer = step.getAttribute(end + "buf");
                        String type = step.getAttribute("type");
                        boolean local =
                                end.equals("src") ? !type.equals("r") && !type.equals("rcs") : !type.equals("s");
                        int size = number(gpu, buffer + "_chunks");
                        if (local && number(step, end + "off") + number(step, "cnt") > size) {
                            return end + "off of step " + s + " is out of bounds";
                        }
                    }
                }
            }
            if (elements > 4096 || peers.values().stream().anyMatch(count -> count > 31)) {
                return "too many elements or peers";
            }
        }
        return owners.values().stream().allMatch(count -> count == 1) ? "" : "a connection of several threadblocks";
    }

    /**
     * Runs a file.
     *
     * @return what went wrong; empty if nothing
     */
    static String run(Element algo, Mode mode, Random random) {
        MscclMachine machine = new MscclMachine(algo, mode, random);
        String hang = machine.execute();
        return hang.isEmpty() ? machine.complaint() : hang;
    }

    private static int number(Element element, String attribute) {
        return Integer.parseInt(element.getAttribute(attribute));
    }

    private long[][] filled(int size) {
        long[][] memory = new long[size][mode.iterations];
        for (long[] chunk : memory) {
            Arrays.setAll(chunk, i -> random.nextLong());
        }
        return memory;
    }

    private void alias(int rank) {
        switch (coll) {
            case "allgather" ->
                System.arraycopy(inputs[rank], 0, outputs[rank], rank * inputs[rank].length, inputs[rank].length);
            case "reducescatter", "reduce_scatter" ->
                System.arraycopy(inputs[rank], rank * outputs[rank].length, outputs[rank], 0, outputs[rank].length);
            case "broadcast" -> {
                if (rank == mode.root) {
                    outputs[rank] = inputs[rank];
                } else {
                    inputs[rank] = outputs[rank];
                }
            }
            default -> outputs[rank] = inputs[rank];
        }
    }

    private String execute() {
        List<Block> running = new ArrayList<>(blocks);
        running.removeIf(block -> block.steps.isEmpty());
        while (!running.isEmpty()) {
            int start = random.nextInt(running.size());
            boolean progress = false;
            for (int i = 0; i < running.size() && !progress; i++) {
                Block block = running.get((start + i) % running.size());
                progress = advance(block);
                if (block.iteration == mode.iterations) {
                    running.remove(block);
                }
            }
            if (!progress) {
                Block stuck = running.getFirst();
                return "hangs at step " + stuck.step + " of threadblock " + stuck.id + " of GPU " + stuck.rank
                        + " in iteration " + stuck.iteration;
            }
        }
        return connections.values().stream().allMatch(Deque::isEmpty) ? "" : "messages are left over";
    }

    /** Does one piece of a step, if it can. */
    private boolean advance(Block block) {
        Step step = block.steps.get(block.step);
        if (block.posted) {
            if (!block.outbound.isEmpty()) {
                return false;
            }
            block.posted = false;
            finishPiece(block, step);
            return true;
        }
        if (block.piece == 0 && !isDependencyDone(block, step)) {
            return false;
        }
        if (step.type.equals("nop")) {
            finishStep(block, step);
            return true;
        }
        boolean receives = step.type.startsWith("r") && !step.type.equals("re");
        boolean sends = step.type.endsWith("s");
        if ((receives && block.inbound.isEmpty()) || (sends && block.outbound.size() >= Math.max(mode.capacity, 1))) {
            return false;
        }
        int width = mode.piecewise ? 1 : step.count;
        long[] message = receives ? block.inbound.remove() : new long[width];
        if (message.length != width) {
            throw new AssertionError("step " + block.step + " of threadblock " + block.id + " of GPU " + block.rank
                    + " gets a message of " + message.length + " chunks, not " + width);
        }
        for (int k = 0; k < width; k++) {
            message[k] = compute(block, step, block.piece + k, message[k]);
        }
        if (sends) {
            block.outbound.add(message);
            if (mode.capacity == RENDEZVOUS) {
                block.posted = true;
                return true;
            }
        }
        finishPiece(block, step);
        return true;
    }

    private boolean isDependencyDone(Block block, Step step) {
        return step.depid < 0
                || flags.getOrDefault(List.of(block.rank, step.depid), -1L) >= block.iteration * STEPS + step.deps;
    }

    private long compute(Block block, Step step, int offset, long received) {
        int i = block.iteration;
        long value = received;
        if (step.type.startsWith("rr") || List.of("s", "cpy", "re").contains(step.type)) {
            value += memory(block.rank, step.source)[step.from + offset][i];
        }
        if (step.type.equals("re")) {
            value += memory(block.rank, step.target)[step.to + offset][i];
        }
        if (!step.type.equals("s") && !step.type.equals("rrs")) {
            memory(block.rank, step.target)[step.to + offset][i] = value;
        }
        return value;
    }

    private long[][] memory(int rank, String buffer) {
        return switch (buffer) {
            case "i" -> inputs[rank];
            case "o" -> outputs[rank];
            default -> scratch[rank];
        };
    }

    private void finishPiece(Block block, Step step) {
        block.piece += mode.piecewise ? 1 : step.count;
        if (block.piece >= step.count) {
            finishStep(block, step);
        }
    }

    private void finishStep(Block block, Step step) {
        if (step.tells) {
            flags.put(List.of(block.rank, block.id), block.iteration * STEPS + block.step);
        }
        block.piece = 0;
        if (++block.step == block.steps.size()) {
            block.step = 0;
            block.iteration++;
        }
    }

    private String complaint() {
        for (int rank = 0; rank < ranks; rank++) {
            boolean hasOutput = !coll.equals("reduce") || rank == mode.root;
            for (int c = 0; hasOutput && c < outputs[rank].length; c++) {
                for (int i = 0; i < mode.iterations; i++) {
                    if (outputs[rank][c][i] != expected(rank, c, i)) {
                        return "chunk " + c + " of rank " + rank + " is wrong";
                    }
                }
            }
            if (!mode.inPlace && !Arrays.deepEquals(inputs[rank], originals[rank])) {
                return "the input of rank " + rank + " has changed";
            }
        }
        return "";
    }

    private long expected(int rank, int chunk, int i) {
        int block = chunks / ranks;
        return switch (coll) {
            case "allgather" -> originals[chunk / block][chunk % block][i];
            case "broadcast" -> originals[mode.root][chunk][i];
            case "reducescatter", "reduce_scatter" -> sum(rank * block + chunk, i);
            default -> sum(chunk, i);
        };
    }

    private long sum(int chunk, int i) {
        return Arrays.stream(originals).mapToLong(input -> input[chunk][i]).sum();
    }
}
