package dev.banyan.cuda.internal.memory;

import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.driver.MappedMemory;
import dev.banyan.cuda.internal.driver.MulticastMemory;
import dev.banyan.cuda.type.CudaException;
import dev.banyan.schedule.internal.program.DirectExchange;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import jcuda.driver.CUresult;
import jcuda.driver.JCudaDriver;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Memory of devices that is open to all of them. A mapping has at least 2 MiB, so that shorter pieces share one, each
 * in a place whose length is a power of two; such a mapping lasts until {@link #free()}.
 *
 * <p>Mappings of one length form groups, one of each device. Devices whose memory is allocated in the same order have
 * their pieces in the same places of the same groups; where the switch can, and no ranks share a device, these have
 * multicast addresses as well.
 *
 * <p>Safe for use from any thread.
 */
final class OpenHeap {
    private static final Logger LOG = LoggerFactory.getLogger(OpenHeap.class);
    private static final long LONGEST_SHARED = 1 << 20;
    private static final long SHORTEST = 512;

    private record Kind(CudaDevice device, long bytes) {}

    /** Mappings of one length. */
    private static final class Group {
        private final Map<CudaDevice, MappedMemory> parts = new LinkedHashMap<>();
        private @Nullable MulticastMemory multicast;
    }

    private record Part(Group group, CudaDevice device, MappedMemory mapping) {}

    private final List<CudaDevice> devices;
    /** The groups of each length. */
    private final Map<Long, List<Group>> groups = new HashMap<>();
    /** All mappings, by address. */
    private final TreeMap<Long, Part> parts = new TreeMap<>();

    private final Map<Kind, Deque<Long>> spares = new HashMap<>();
    /** The kinds of the short pieces that are in use, by address. */
    private final Map<Long, Kind> shorts = new HashMap<>();

    private boolean multicasts;

    /** @param ranks the device of each rank */
    OpenHeap(List<CudaDevice> ranks) {
        devices = ranks.stream().distinct().toList();
        multicasts = DirectExchange.takesSwitch(devices.size()) && MulticastMemory.isSupported(devices);
        if (multicasts && devices.size() < ranks.size()) {
            LOG.info("ranks share GPUs, so that kernels add up instead of the switch, which takes each GPU once");
            multicasts = false;
        }
    }

    /** Returns the address of memory that is in use from now on. Its contents are undefined. */
    synchronized long allocate(CudaDevice device, long bytes) {
        if (bytes > LONGEST_SHARED) {
            return map(device, bytes).address().value();
        }
        Kind kind = new Kind(device, Math.max(SHORTEST, Long.highestOneBit(2 * bytes - 1)));
        Deque<Long> places = spares.computeIfAbsent(kind, _ -> new ArrayDeque<>());
        if (places.isEmpty()) {
            MappedMemory mapping = map(device, 2 * LONGEST_SHARED);
            for (long at = 0; at < mapping.bytes(); at += kind.bytes()) {
                places.add(mapping.address().value() + at);
            }
        }
        long address = places.remove();
        shorts.put(address, kind);
        return address;
    }

    /**
     * Allocates memory of all devices at once, so that no order of other allocations matters. Returns nothing if the
     * switch has no address for it.
     *
     * @throws CudaException if memory is missing; nothing is left
     */
    synchronized Optional<DeviceMemory.Together> allocateTogether(long bytes) {
        if (!multicasts) {
            return Optional.empty();
        }
        Group group = new Group();
        try {
            for (CudaDevice device : devices) {
                add(group, device, MappedMemory.of(device, bytes, devices));
            }
        } finally {
            if (group.multicast == null) {
                for (MappedMemory mapping : List.copyOf(group.parts.values())) {
                    int _ = free(Objects.requireNonNull(
                            parts.remove(mapping.address().value())));
                }
            }
        }
        return Optional.ofNullable(group.multicast)
                .map(multicast -> new DeviceMemory.Together(
                        group.parts.values().stream()
                                .map(part -> part.address().value())
                                .toList(),
                        multicast.address()));
    }

    private MappedMemory map(CudaDevice device, long bytes) {
        MappedMemory mapping = MappedMemory.of(device, bytes, devices);
        List<Group> sameLength = groups.computeIfAbsent(mapping.bytes(), _ -> new ArrayList<>());
        Group group = sameLength.stream()
                .filter(one -> !one.parts.containsKey(device))
                .findFirst()
                .orElseGet(() -> {
                    sameLength.add(new Group());
                    return sameLength.getLast();
                });
        add(group, device, mapping);
        return mapping;
    }

    private void add(Group group, CudaDevice device, MappedMemory mapping) {
        group.parts.put(device, mapping);
        parts.put(mapping.address().value(), new Part(group, device, mapping));
        if (multicasts && group.parts.size() == devices.size()) {
            group.multicast = MulticastMemory.of(
                            devices,
                            devices.stream()
                                    .map(one -> Objects.requireNonNull(group.parts.get(one)))
                                    .toList())
                    .orElse(null);
            multicasts = group.multicast != null;
        }
    }

    /** Returns the multicast address of memory that lies in the same place on all devices, or 0. */
    synchronized long multicast(long[] addresses) {
        Part first = partOf(addresses[0]);
        if (first == null || first.group().multicast == null) {
            return 0;
        }
        long offset = addresses[0] - first.mapping().address().value();
        for (int d = 1; d < addresses.length; d++) {
            Part part = partOf(addresses[d]);
            if (part == null
                    || !part.group().equals(first.group())
                    || addresses[d] - part.mapping().address().value() != offset) {
                return 0;
            }
        }
        return first.group().multicast.address() + offset;
    }

    private @Nullable Part partOf(long address) {
        Map.Entry<Long, Part> below = parts.floorEntry(address);
        return below == null
                        || address - below.getKey()
                                >= below.getValue().mapping().bytes()
                ? null
                : below.getValue();
    }

    /**
     * Gives memory back when its device has done all work, as the driver does before it frees memory, and returns the
     * driver's result. After a failure nobody gets it again.
     */
    synchronized int free(long address) {
        Kind kind = shorts.remove(address);
        Part whole = kind == null ? parts.get(address) : null;
        CudaDevice device = kind != null ? kind.device() : whole != null ? whole.device() : null;
        int settled = device == null || !device.tryEnter() ? CUresult.CUDA_SUCCESS : JCudaDriver.cuCtxSynchronize();
        if (settled != CUresult.CUDA_SUCCESS) {
            return settled;
        }
        if (kind != null) {
            spares.getOrDefault(kind, new ArrayDeque<>()).push(address);
            return CUresult.CUDA_SUCCESS;
        }
        Part part = parts.remove(address);
        return part == null ? CUresult.CUDA_SUCCESS : free(part);
    }

    private static int free(Part part) {
        MulticastMemory multicast = part.group().multicast;
        int result = multicast == null ? CUresult.CUDA_SUCCESS : multicast.free();
        part.group().multicast = null;
        part.group().parts.remove(part.device());
        int freed = part.mapping().free();
        return result == CUresult.CUDA_SUCCESS ? freed : result;
    }

    /**
     * Frees everything; nothing runs.
     *
     * @return results of the driver
     */
    synchronized List<Integer> free() {
        List<Integer> results = parts.values().stream().map(OpenHeap::free).toList();
        parts.clear();
        groups.clear();
        spares.clear();
        shorts.clear();
        return results;
    }
}
