package dev.banyan.study.measured;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * NCCL's log of its first communicator, as {@code NCCL_DEBUG=INFO} prints it. Immutable.
 *
 * @param source what it was read from
 * @param version NCCL's version, e.g. {@code 2.21.5}; empty if the log does not say
 * @param ranks number of ranks; 0 if the log does not say
 * @param rings ranks in the order of each channel's ring, by channel
 * @param channels number of channels that collectives use; 0 if the log does not say
 * @param hops by what each pair of ranks that follow each other in a ring sends, e.g. {@code P2P/IPC}
 * @param settings variables of the environment that NCCL has read, with their values
 * @param disabled pairs of devices between which the driver refuses peer access
 * @param nvls whether NCCL reduces in the switch; empty if the log does not say
 * @param choices algorithm and protocol of calls by size in bytes, e.g. {@code Ring/LL128}; from NCCL's tuning lines
 */
public record NcclLog(
        String source,
        Optional<String> version,
        int ranks,
        SortedMap<Integer, List<Integer>> rings,
        int channels,
        Map<Pair, String> hops,
        Map<String, String> settings,
        List<Pair> disabled,
        Optional<Boolean> nvls,
        SortedMap<Long, String> choices) {
    /**
     * An ordered pair.
     *
     * @param from rank or device that sends
     * @param to rank or device that receives
     */
    public record Pair(int from, int to) {}

    /** Returns the pairs of ranks that send by a transport, e.g. {@code SHM}. */
    public List<Pair> pairs(String transport) {
        return hops.entrySet().stream()
                .filter(hop -> hop.getValue().startsWith(transport))
                .map(Map.Entry::getKey)
                .toList();
    }

    public NcclLog {
        rings = Collections.unmodifiableSortedMap(new TreeMap<>(rings));
        hops = Collections.unmodifiableMap(new LinkedHashMap<>(hops));
        settings = Collections.unmodifiableMap(new TreeMap<>(settings));
        disabled = List.copyOf(disabled);
        choices = Collections.unmodifiableSortedMap(new TreeMap<>(choices));
    }
}
