package dev.banyan.msccl;

import dev.banyan.InputException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.function.IntConsumer;
import java.util.stream.Collectors;

/**
 * Finds an order in which the steps of a program can be executed, with as many pieces in flight on a connection
 * as it buffers. Sends come as late as possible. There is one unless the steps deadlock, whatever their
 * timing: each waits for fixed others. O(m log m) time for m steps.
 */
final class ExecutionOrder {
    private static final int MOST_NAMED = 6;

    private final Program program;

    private ExecutionOrder(Program program) {
        this.program = program;
    }

    /**
     * All steps, none before one that it waits for.
     *
     * @throws InputException if steps wait for each other
     */
    static int[] of(Program program) {
        return new ExecutionOrder(program).order();
    }

    private int[] order() {
        int size = program.size();
        int[] missing = new int[size];
        List<List<Integer>> waiting = new ArrayList<>(size);
        for (int i = 0; i < size; i++) {
            waiting.add(new ArrayList<>(2));
        }
        for (int i = 0; i < size; i++) {
            int waiter = i;
            forEachBefore(i, before -> {
                waiting.get(before).add(waiter);
                missing[waiter]++;
            });
        }
        PriorityQueue<Integer> ready = new PriorityQueue<>(Comparator.<Integer>comparingInt(
                        i -> program.node(i).instruction().opcode() == Opcode.SEND ? 1 : 0)
                .thenComparingInt(i -> i));
        for (int i = 0; i < size; i++) {
            if (missing[i] == 0) {
                ready.add(i);
            }
        }
        int[] order = new int[size];
        int done = 0;
        while (!ready.isEmpty()) {
            int next = ready.remove();
            order[done++] = next;
            for (int waiter : waiting.get(next)) {
                if (--missing[waiter] == 0) {
                    ready.add(waiter);
                }
            }
        }
        if (done < size) {
            throw deadlock(missing);
        }
        return order;
    }

    private void forEachBefore(int i, IntConsumer consumer) {
        for (int before : new int[] {program.previous(i), program.dependency(i), program.sender(i), program.freer(i)}) {
            if (before != Program.NONE) {
                consumer.accept(before);
            }
        }
    }

    /** Goes from a stuck step to one that it waits for, and so on, until it comes round. */
    private InputException deadlock(int[] missing) {
        int at = 0;
        while (missing[at] == 0) {
            at++;
        }
        List<Integer> path = new ArrayList<>();
        Map<Integer, Integer> seen = new HashMap<>();
        while (!seen.containsKey(at)) {
            seen.put(at, path.size());
            path.add(at);
            int[] next = {at};
            forEachBefore(at, before -> next[0] = missing[before] > 0 ? before : next[0]);
            at = next[0];
        }
        List<Integer> circle = path.subList(seen.getOrDefault(at, 0), path.size());
        String steps = circle.stream()
                .limit(MOST_NAMED)
                .map(i -> program.node(i).toString())
                .collect(Collectors.joining(", which waits for "));
        return program.wrong(
                program.node(circle.getFirst()),
                "waits for itself, so that all would hang: " + steps
                        + (circle.size() > MOST_NAMED ? ", and so on" : "")
                        + "; change the order of steps, or use another channel");
    }
}
