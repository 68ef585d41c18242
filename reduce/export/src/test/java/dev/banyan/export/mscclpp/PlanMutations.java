package dev.banyan.export.mscclpp;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;

/** Small random changes to plans. */
final class PlanMutations {
    private PlanMutations() {}

    static void mutate(JsonTree plan, Random random) {
        JsonTree gpu = any(plan.list("gpus"), random);
        if (random.nextInt(10) == 0) {
            List<Object> peers =
                    gpu.list("channels").getFirst().get("connected_to").array();
            Collections.swap(peers, random.nextInt(peers.size()), random.nextInt(peers.size()));
            return;
        }
        JsonTree block = any(gpu.list("threadblocks"), random);
        List<Object> operations = block.get("ops").array();
        JsonTree last = new JsonTree(operations.getLast());
        if (random.nextInt(4) > 0 && last.has("ops")) {
            operations = last.get("ops").array();
        }
        int at = random.nextInt(operations.size());
        switch (random.nextInt(6)) {
            case 0 -> operations.remove(at);
            case 1 -> operations.add(random.nextInt(operations.size() + 1), copy(operations.get(at)));
            case 2 -> Collections.swap(operations, at, random.nextInt(operations.size()));
            case 3 -> number(new JsonTree(operations.get(at)), random);
            case 4 -> rename(new JsonTree(operations.get(at)), random);
            default -> {
                JsonTree other = any(block.list("ops"), random);
                operations.add(random.nextInt(operations.size() + 1), copy(other.value()));
            }
        }
    }

    private static Object copy(Object value) {
        return JsonTree.parse(new JsonTree(value).json()).value();
    }

    private static <T> T any(List<T> list, Random random) {
        return list.get(random.nextInt(list.size()));
    }

    private static void rename(JsonTree operation, Random random) {
        operation
                .object()
                .put(
                        "name",
                        any(
                                List.of("nop", "signal", "wait", "rlxsignal", "rlxwait", "put", "copy", "re", "res"),
                                random));
    }

    /** Changes one number within an operation by one. */
    private static void number(JsonTree operation, Random random) {
        List<Runnable> changes = new ArrayList<>();
        collect(operation.value(), changes, random.nextBoolean() ? 1 : -1);
        if (!changes.isEmpty()) {
            any(changes, random).run();
        }
    }

    @SuppressWarnings("unchecked")
    private static void collect(Object value, List<Runnable> changes, int by) {
        if (value instanceof Map<?, ?> map) {
            Map<String, Object> object = (Map<String, Object>) map;
            object.forEach((key, entry) -> {
                if (entry instanceof Long number) {
                    changes.add(() -> object.put(key, number + by));
                } else {
                    collect(entry, changes, by);
                }
            });
        } else if (value instanceof List<?> list) {
            List<Object> array = (List<Object>) list;
            for (int i = 0; i < array.size(); i++) {
                int index = i;
                if (array.get(i) instanceof Long number) {
                    changes.add(() -> array.set(index, number + by));
                } else {
                    collect(array.get(i), changes, by);
                }
            }
        }
    }
}
