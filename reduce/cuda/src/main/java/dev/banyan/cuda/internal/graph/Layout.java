package dev.banyan.cuda.internal.graph;

import dev.banyan.cuda.internal.driver.CudaDevice;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The places of routes' slots in one block of memory per device and one of the host's. Sizes in bytes. */
final class Layout {
    private static final int ALIGNMENT = 256;
    /** Slots begin as far from a multiple of 16 as the buffers, so that kernels can take 16 bytes of all. */
    private static final int PHASES = 16;

    /** The first of a slot's places in its block, and how far they are apart. */
    record Place(long offset, long stride) {}

    private final Map<CudaDevice, Long> deviceBytes = new HashMap<>();
    private final List<List<Place>> slots = new ArrayList<>();
    private final List<List<Place>> hostSlots = new ArrayList<>();
    private long hostBytes;

    /**
     * @param ranks the device of each rank
     * @param ring places of each slot
     */
    Layout(List<Route> routes, List<CudaDevice> ranks, int ring) {
        for (Route route : routes) {
            long elements = route.pieces().stream()
                    .mapToLong(Route.Piece::elements)
                    .max()
                    .orElse(0);
            int places = Math.min(ring, route.pieces().size());
            List<Place> here = new ArrayList<>();
            for (Route.Slot slot : route.slots()) {
                long stride = stride(elements, slot);
                long offset = deviceBytes.merge(ranks.get(slot.rank()), places * stride, Long::sum) - places * stride;
                here.add(new Place(offset, stride));
            }
            slots.add(here);
            List<Place> onHost = new ArrayList<>();
            for (Route.Slot slot : route.hostSlots()) {
                long stride = stride(elements, slot);
                onHost.add(new Place(hostBytes, stride));
                hostBytes += places * stride;
            }
            hostSlots.add(onHost);
        }
    }

    private static long stride(long elements, Route.Slot slot) {
        return Math.ceilDiv(elements * slot.elementBytes() + PHASES, ALIGNMENT) * (long) ALIGNMENT;
    }

    Map<CudaDevice, Long> deviceBytes() {
        return deviceBytes;
    }

    long hostBytes() {
        return hostBytes;
    }

    Place slot(int route, int slot) {
        return slots.get(route).get(slot);
    }

    Place hostSlot(int route, int slot) {
        return hostSlots.get(route).get(slot);
    }
}
