package dev.banyan.reduce;

import dev.banyan.reduce.internal.CloseAll;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Function;

/**
 * Caches plans by the key that they depend on. A full cache closes the plan that was unused for the longest time; its
 * last run may be in flight, which {@link dev.banyan.reduce.backend.Executable#close} allows. Used by one thread at a
 * time: calls of a communicator start one at a time, and only they use it.
 */
final class PlanCache implements AutoCloseable {
    private final Map<PlanKey, Plan> plans = new LinkedHashMap<>(16, 0.75f, true);
    private final int capacity;

    /** @param capacity greatest number of plans, at least 1 */
    PlanCache(int capacity) {
        this.capacity = capacity;
    }

    Plan get(PlanKey key, Function<PlanKey, Plan> prepare) {
        Plan plan = plans.get(key);
        if (plan == null) {
            if (plans.size() >= capacity) {
                var eldest = plans.entrySet().iterator();
                Plan evicted = eldest.next().getValue();
                eldest.remove();
                evicted.executable().close();
            }
            plan = prepare.apply(key);
            plans.put(key, plan);
        }
        return plan;
    }

    int size() {
        return plans.size();
    }

    @Override
    public void close() {
        CloseAll all = new CloseAll();
        plans.values().forEach(plan -> all.close(plan.executable()::close));
        plans.clear();
        all.throwFailure();
    }
}
