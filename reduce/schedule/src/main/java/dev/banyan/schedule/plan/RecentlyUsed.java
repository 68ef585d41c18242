package dev.banyan.schedule.plan;

import java.util.LinkedHashMap;
import java.util.Map;

/** A map that forgets the entry that was unused for the longest time when it holds more than its capacity. */
final class RecentlyUsed<K, V> extends LinkedHashMap<K, V> {
    private static final long serialVersionUID = 1L;

    private final int capacity;

    /** @param capacity greatest number of entries, at least 1 */
    RecentlyUsed(int capacity) {
        super(16, 0.75f, true);
        this.capacity = capacity;
    }

    @Override
    protected boolean removeEldestEntry(Map.Entry<K, V> eldest) {
        return size() > capacity;
    }
}
