package dev.banyan.cuda.internal.memory;

import dev.banyan.cuda.internal.driver.CudaDevice;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The device of each rank. Only the place of ranks of other processes is known: a number of the device that is the same
 * in all processes, 0..p-1, and that differs where processes differ. Safe for use from any thread.
 */
public final class Ranks {
    private final List<CudaDevice> held;
    private final int first;
    private final int[] places;

    /**
     * @param held the device of each rank of this process, at least one
     * @param first the first rank of this process
     * @param places the place of each rank of all processes
     */
    public Ranks(List<CudaDevice> held, int first, int[] places) {
        this.held = List.copyOf(held);
        this.first = first;
        this.places = places.clone();
    }

    /** Returns ranks that this process holds all of. */
    public static Ranks of(List<CudaDevice> devices) {
        List<CudaDevice> distinct = devices.stream().distinct().toList();
        return new Ranks(
                devices, 0, devices.stream().mapToInt(distinct::indexOf).toArray());
    }

    /** Returns the number of ranks of all processes. */
    public int size() {
        return places.length;
    }

    /** Returns the device of each rank of this process. */
    public List<CudaDevice> held() {
        return held;
    }

    /** Returns the first rank of this process. */
    public int first() {
        return first;
    }

    /** Returns the device of the first rank of this process, whose context is current during calls. */
    public CudaDevice leader() {
        return held.getFirst();
    }

    /** Returns whether this process holds a rank. */
    public boolean holds(int rank) {
        return rank >= first && rank < first + held.size();
    }

    /** Returns whether this process holds the ranks of a place. */
    public boolean holdsPlace(int place) {
        return IntStream.range(first, first + held.size()).anyMatch(rank -> places[rank] == place);
    }

    /**
     * Returns the device of a rank.
     *
     * @throws IllegalArgumentException if another process holds it
     */
    public CudaDevice get(int rank) {
        if (!holds(rank)) {
            throw new IllegalArgumentException("rank " + rank + " is of another process; this one holds ranks " + first
                    + " to " + (first + held.size() - 1));
        }
        return held.get(rank - first);
    }

    /** Returns the device of a place of this process. */
    public CudaDevice at(int place) {
        for (int rank = first; rank < first + held.size(); rank++) {
            if (places[rank] == place) {
                return get(rank);
            }
        }
        throw new IllegalArgumentException("place " + place + " is of another process");
    }

    /** Returns the number of devices of all processes. */
    public int places() {
        return (int) IntStream.of(places).distinct().count();
    }

    /** Returns the place of a rank. */
    public int place(int rank) {
        return places[rank];
    }

    /** Returns the ranks at a place, for messages. */
    public String ranksOf(int place) {
        List<Integer> ranks = IntStream.range(0, places.length)
                .filter(rank -> places[rank] == place)
                .boxed()
                .toList();
        return ranks.size() == 1 ? "rank " + ranks.getFirst() : "ranks " + ranks;
    }

    /** Returns the number of ranks at a place. */
    public int countAt(int place) {
        return (int) IntStream.of(places).filter(each -> each == place).count();
    }

    /** Returns the greatest number of ranks of a device. */
    public int mostRanksOfADevice() {
        return IntStream.of(places).map(this::countAt).max().orElseThrow();
    }
}
