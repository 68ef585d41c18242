package dev.banyan.msccl;

import dev.banyan.InputException;
import dev.banyan.msccl.Algo.Gpu;
import dev.banyan.msccl.Algo.Instruction;
import dev.banyan.msccl.Algo.Threadblock;
import dev.banyan.schedule.Space;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * An algorithm's steps in one numbering over all ranks, each with what it waits for. The k-th send of a
 * connection (sender, receiver, channel) is what its k-th receive gets.
 */
final class Program {
    /** Nothing to wait for. */
    static final int NONE = -1;

    /**
     * A step.
     *
     * @param rank its rank
     * @param block number of its threadblock among those of all ranks
     * @param threadblock the threadblock
     * @param index index in the threadblock
     */
    record Node(int rank, int block, Threadblock threadblock, int index) {
        Instruction instruction() {
            return threadblock.instructions().get(index);
        }

        @Override
        public String toString() {
            return "step " + index + " of threadblock " + threadblock.id() + " of GPU " + rank;
        }
    }

    private record Connection(int from, int to, int channel) {
        @Override
        public String toString() {
            return "from GPU " + from + " to GPU " + to + " on channel " + channel;
        }
    }

    private static final class Ends {
        final List<Integer> sends = new ArrayList<>();
        final List<Integer> receives = new ArrayList<>();
    }

    private final String source;
    private final Algo algo;
    private final List<Node> nodes = new ArrayList<>();
    /** Node of the first step of each threadblock of each rank. */
    private final int[][] firsts;

    private final int blocks;
    private final int[] dependencies;
    private final int[] senders;
    private final int[] freers;

    /**
     * @throws InputException if steps name what there is not, or sends and receives don't match
     */
    Program(String source, Algo algo) {
        this.source = source;
        this.algo = algo;
        firsts = new int[algo.ranks()][];
        int block = 0;
        for (Gpu gpu : algo.gpus()) {
            firsts[gpu.id()] = new int[gpu.threadblocks().size()];
            for (Threadblock threadblock : gpu.threadblocks()) {
                firsts[gpu.id()][threadblock.id()] = nodes.size();
                for (int index = 0; index < threadblock.instructions().size(); index++) {
                    nodes.add(new Node(gpu.id(), block, threadblock, index));
                }
                block++;
            }
        }
        blocks = block;
        dependencies = new int[nodes.size()];
        senders = new int[nodes.size()];
        freers = new int[nodes.size()];
        Arrays.fill(senders, NONE);
        Arrays.fill(freers, NONE);
        for (int i = 0; i < nodes.size(); i++) {
            checkPeers(nodes.get(i));
            checkBounds(nodes.get(i));
            dependencies[i] = dependency(nodes.get(i));
        }
        match();
    }

    int size() {
        return nodes.size();
    }

    /** Number of threadblocks of all ranks. */
    int blocks() {
        return blocks;
    }

    Node node(int i) {
        return nodes.get(i);
    }

    /** The step before it in its threadblock, or {@link #NONE}. */
    int previous(int i) {
        return nodes.get(i).index() == 0 ? NONE : i - 1;
    }

    /** The step that it waits for by {@code depid}, or {@link #NONE}. */
    int dependency(int i) {
        return dependencies[i];
    }

    /** The step that sends what it receives, or {@link #NONE}. */
    int sender(int i) {
        return senders[i];
    }

    /** The step that must have received before there is room for what it sends, or {@link #NONE}. */
    int freer(int i) {
        return freers[i];
    }

    InputException wrong(Node node, String problem) {
        return new InputException(
                source,
                node.instruction().position().line(),
                node.instruction().position().column(),
                node + " " + problem);
    }

    private void checkPeers(Node node) {
        Opcode opcode = node.instruction().opcode();
        checkPeer(node, opcode.sends, node.threadblock().send(), "send");
        checkPeer(node, opcode.receives, node.threadblock().receive(), "recv");
    }

    private void checkPeer(Node node, boolean needed, int peer, String attribute) {
        if (needed && (peer < 0 || peer >= algo.ranks() || peer == node.rank())) {
            throw wrong(
                    node,
                    "is of type \"" + node.instruction().opcode().label() + "\", but its threadblock has " + attribute
                            + "=\"" + peer + "\"; it needs another of the ranks 0.." + (algo.ranks() - 1));
        }
    }

    private void checkBounds(Node node) {
        Instruction instruction = node.instruction();
        if (instruction.opcode().readsSource) {
            checkBounds(node, "reads", instruction.sourceSpace(), instruction.sourceOffset() + instruction.count());
        }
        if (instruction.opcode().writesTarget) {
            checkBounds(node, "writes", instruction.targetSpace(), instruction.targetOffset() + instruction.count());
        }
    }

    private void checkBounds(Node node, String what, Space space, int end) {
        int chunks = algo.gpus().get(node.rank()).chunks(space);
        if (end > chunks) {
            throw wrong(
                    node,
                    what + " buffer " + AlgoXml.label(space) + " up to chunk " + end + ", but its GPU has " + chunks
                            + " there; raise the number or correct the offset");
        }
    }

    private int dependency(Node node) {
        Instruction instruction = node.instruction();
        if (!instruction.waits()) {
            return NONE;
        }
        List<Threadblock> own = algo.gpus().get(node.rank()).threadblocks();
        if (instruction.block() >= own.size()
                || instruction.step()
                        >= own.get(instruction.block()).instructions().size()) {
            throw wrong(
                    node,
                    "waits for step " + instruction.step() + " of threadblock " + instruction.block()
                            + ", which its GPU has not; correct depid or deps");
        }
        if (!own.get(instruction.block()).instructions().get(instruction.step()).awaited()) {
            throw wrong(
                    node,
                    "waits for step " + instruction.step() + " of threadblock " + instruction.block()
                            + ", which has hasdep=\"0\" and never says that it is done; set it to 1");
        }
        return firsts[node.rank()][instruction.block()] + instruction.step();
    }

    private void match() {
        Map<Connection, Ends> connections = new LinkedHashMap<>();
        for (int i = 0; i < nodes.size(); i++) {
            Node node = nodes.get(i);
            Threadblock block = node.threadblock();
            if (node.instruction().opcode().sends) {
                Connection out = new Connection(node.rank(), block.send(), block.channel());
                connections.computeIfAbsent(out, _ -> new Ends()).sends.add(i);
            }
            if (node.instruction().opcode().receives) {
                Connection in = new Connection(block.receive(), node.rank(), block.channel());
                connections.computeIfAbsent(in, _ -> new Ends()).receives.add(i);
            }
        }
        connections.forEach(this::match);
    }

    private void match(Connection connection, Ends ends) {
        checkOneBlock(connection, ends.sends, "send");
        checkOneBlock(connection, ends.receives, "receive");
        int matched = Math.min(ends.sends.size(), ends.receives.size());
        for (int k = 0; k < matched; k++) {
            Node send = nodes.get(ends.sends.get(k));
            Node receive = nodes.get(ends.receives.get(k));
            if (send.instruction().count() != receive.instruction().count()) {
                throw wrong(
                        receive,
                        "gets " + receive.instruction().count() + " chunks, but " + send + " sends it "
                                + send.instruction().count() + "; make cnt equal");
            }
            senders[ends.receives.get(k)] = ends.sends.get(k);
            if (k >= algo.protocol().slots()) {
                freers[ends.sends.get(k)] =
                        ends.receives.get(k - algo.protocol().slots());
            }
        }
        if (ends.sends.size() != ends.receives.size()) {
            boolean more = ends.sends.size() > matched;
            Node odd = nodes.get((more ? ends.sends : ends.receives).get(matched));
            throw wrong(
                    odd,
                    (more ? "sends what nobody receives" : "receives what nobody sends") + ": there are "
                            + ends.sends.size() + " sends and " + ends.receives.size() + " receives " + connection
                            + "; make them as many");
        }
    }

    private void checkOneBlock(Connection connection, List<Integer> ends, String what) {
        for (int end : ends) {
            Node node = nodes.get(end);
            Node first = nodes.get(ends.getFirst());
            if (node.block() != first.block()) {
                throw wrong(
                        node,
                        "and " + first + " both " + what + " " + connection
                                + ", in no order; a connection belongs to one threadblock, so give one of them another"
                                + " channel");
            }
        }
    }
}
