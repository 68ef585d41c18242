package dev.banyan.cuda.internal.job;

import dev.banyan.cuda.internal.driver.Cuda;
import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.driver.MappedMemory;
import dev.banyan.cuda.internal.driver.MulticastMemory;
import dev.banyan.cuda.internal.memory.CopyLane;
import dev.banyan.cuda.internal.memory.OwnPieces;
import dev.banyan.cuda.internal.memory.ProgramPieces;
import dev.banyan.cuda.internal.memory.Ranks;
import dev.banyan.cuda.type.CudaException;
import dev.banyan.reduce.internal.processes.Exchange;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.IntUnaryOperator;
import jcuda.driver.CUstream;
import org.jspecify.annotations.Nullable;

/**
 * Pieces of memory of devices of several processes. Each process allocates those of its own devices, and maps the
 * others' by descriptors that all exchange when they share. All processes add the same pieces in the same order.
 */
final class SharedPieces implements ProgramPieces {
    /** A piece of any process. */
    private static final class Piece {
        private final int place;
        private final long bytes;
        /** Its number among this process's pieces, or -1. */
        private final int own;
        /** Its memory here; null if it is of another process and not shared yet. */
        private @Nullable MappedMemory memory;

        private Piece(int place, long bytes, int own, @Nullable MappedMemory memory) {
            this.place = place;
            this.bytes = bytes;
            this.own = own;
            this.memory = memory;
        }
    }

    private final Ranks ranks;
    private final Function<CudaDevice, List<CudaDevice>> viewers;
    private final OwnPieces own;
    private final Exchange exchange;
    private final IntUnaryOperator processOf;
    private final List<MulticastMemory> objects = new ArrayList<>();
    private final List<Piece> pieces = new ArrayList<>();
    /** The memory of the piece that this process added last. */
    private @Nullable MappedMemory added;
    /** The number of pieces that are shared. */
    private int shared;

    private boolean multicasts;

    /**
     * @param lanes copies to each device
     * @param viewers the devices of this process that may touch a device's memory
     * @param exchange of the processes
     * @param processOf returns the process of a place
     * @param multicasts whether all devices can have multicast addresses together
     */
    SharedPieces(
            Ranks ranks,
            Map<CudaDevice, CopyLane> lanes,
            Function<CudaDevice, List<CudaDevice>> viewers,
            Exchange exchange,
            IntUnaryOperator processOf,
            boolean multicasts) {
        this.ranks = ranks;
        this.viewers = viewers;
        this.exchange = exchange;
        this.processOf = processOf;
        this.multicasts = multicasts;
        own = new OwnPieces(ranks, lanes, this::allocate);
    }

    private OwnPieces.Allocation.Block allocate(CudaDevice device, long bytes) {
        MappedMemory memory = MappedMemory.exportable(device, bytes, viewers.apply(device));
        added = memory;
        return new OwnPieces.Allocation.Block(memory.address(), memory::free);
    }

    @Override
    public synchronized int add(int place, long bytes, boolean lines) {
        pieces.add(
                ranks.holdsPlace(place)
                        ? new Piece(place, bytes, own.add(place, bytes, lines), added)
                        : new Piece(place, bytes, -1, null));
        return pieces.size() - 1;
    }

    @Override
    public long leastBytes() {
        return MappedMemory.GRANULE;
    }

    /**
     * {@inheritDoc} Waits for the others, which share the same.
     *
     * @throws IllegalStateException if they share something else, or one has ended
     * @throws CudaException if a device cannot touch memory of another process
     */
    @Override
    public synchronized void share(String what) {
        List<Piece> fresh = pieces.subList(shared, pieces.size());
        List<int[]> given = exchange.swapDescriptors(
                what, descriptors(fresh.stream().filter(piece -> piece.own >= 0).toList()));
        try {
            checkNumbers(what, fresh, given);
            int[] taken = new int[given.size()];
            for (Piece piece : fresh) {
                int process = processOf.applyAsInt(piece.place);
                int descriptor = given.get(process)[taken[process]++];
                if (piece.own < 0) {
                    piece.memory = open(piece, descriptor);
                }
            }
        } finally {
            Exchange.closeDescriptors(given);
        }
        shared = pieces.size();
    }

    /** Refuses what a process gives that has failed before, so that its pieces are not those that the others expect. */
    private void checkNumbers(String what, List<Piece> fresh, List<int[]> given) {
        for (int process = 0; process < given.size(); process++) {
            int number = process;
            long expected = fresh.stream()
                    .filter(piece -> processOf.applyAsInt(piece.place) == number)
                    .count();
            if (given.get(process).length != expected) {
                throw new IllegalStateException("process " + process + " shares " + given.get(process).length
                        + " pieces of memory for " + what + ", others expect " + expected
                        + "; one of them has failed before: join again");
            }
        }
    }

    private static int[] descriptors(List<Piece> pieces) {
        int[] descriptors = new int[pieces.size()];
        for (int p = 0; p < descriptors.length; p++) {
            try {
                descriptors[p] = Objects.requireNonNull(pieces.get(p).memory).descriptor();
            } catch (Throwable e) {
                Exchange.closeDescriptors(List.of(Arrays.copyOf(descriptors, p)));
                throw e;
            }
        }
        return descriptors;
    }

    private MappedMemory open(Piece piece, int descriptor) {
        List<CudaDevice> devices = ranks.held().stream().distinct().toList();
        String owners = ranks.ranksOf(piece.place);
        try {
            return MappedMemory.imported(descriptor, piece.bytes, devices);
        } catch (CudaException e) {
            throw new CudaException(
                    "devices " + devices.stream().map(CudaDevice::ordinal).toList() + " cannot touch the memory of "
                            + owners + ", as " + e.getMessage() + "; see that they have peer access (nvidia-smi"
                            + " topo -p2p r lists why not) and free memory, or hold their ranks in one process",
                    e);
        }
    }

    @Override
    public synchronized long address(int piece, CudaDevice viewer) {
        MappedMemory memory = pieces.get(piece).memory;
        if (memory == null) {
            throw new IllegalStateException("piece " + piece + " was not shared");
        }
        return memory.address().value();
    }

    @Override
    public synchronized boolean multicasts() {
        return multicasts;
    }

    /** {@inheritDoc} Waits for the others. After a failure nobody tries that again. */
    @Override
    public synchronized long multicast(List<Integer> ofPlaces, String what) {
        if (!multicasts) {
            return 0;
        }
        List<Piece> here = ofPlaces.stream()
                .map(pieces::get)
                .filter(piece -> piece.own >= 0)
                .toList();
        Optional<MulticastMemory> made = JobMulticast.make(
                exchange,
                what,
                ofPlaces.size(),
                here.stream().map(piece -> ranks.at(piece.place)).toList(),
                here.stream().map(piece -> Objects.requireNonNull(piece.memory)).toList());
        made.ifPresent(objects::add);
        multicasts = made.isPresent();
        return made.map(MulticastMemory::address).orElse(0L);
    }

    @Override
    public void clearLines(Function<CudaDevice, CUstream> streams) {
        own.clearLines(streams);
    }

    /** Gives back the memory of other processes; nothing runs. */
    synchronized void closeOthers() {
        freeOthers().forEach(result -> Cuda.check(result, "unmapping the memory of other processes"));
    }

    private List<Integer> freeOthers() {
        List<Integer> results =
                new ArrayList<>(objects.stream().map(MulticastMemory::free).toList());
        objects.clear();
        for (Piece piece : pieces) {
            if (piece.own < 0 && piece.memory != null) {
                results.add(piece.memory.free());
                piece.memory = null;
            }
        }
        return results;
    }

    /** {@inheritDoc} Also what {@link #closeOthers} did not give back, as this process could not join. */
    @Override
    public synchronized List<Integer> free() {
        List<Integer> results = freeOthers();
        results.addAll(own.free());
        return results;
    }
}
