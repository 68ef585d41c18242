package dev.banyan.cli.bench;

import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.study.text.Names;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Operations as {@code -o} names them: one, or {@code all}.
 *
 * @param ops at least one
 */
record Operations(List<ReduceOp> ops) {
    static final Operations SUM = new Operations(List.of(ReduceOp.SUM));

    /** Returns what the names stand for. */
    static Map<String, Operations> named() {
        Map<String, Operations> named = new LinkedHashMap<>();
        Names.of(ReduceOp.values(), ReduceOp::name).forEach((name, op) -> named.put(name, new Operations(List.of(op))));
        named.put("all", new Operations(List.of(ReduceOp.values())));
        return named;
    }
}
