package dev.banyan.cuda;

import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.driver.MappedMemory;
import dev.banyan.cuda.internal.driver.MulticastMemory;
import dev.banyan.cuda.internal.memory.CopyLane;
import dev.banyan.cuda.internal.memory.OwnPieces;
import dev.banyan.cuda.internal.memory.ProgramPieces;
import dev.banyan.cuda.internal.memory.Ranks;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import java.util.stream.Stream;
import jcuda.driver.CUstream;
import org.jspecify.annotations.Nullable;

/** Pieces of one process with multicast addresses, as those of several processes have them. */
final class MulticastPieces implements ProgramPieces {
    private final Ranks ranks;
    private final OwnPieces own;
    private final List<MulticastMemory> objects = new ArrayList<>();
    /** The memory of each piece. */
    private final List<MappedMemory> memory = new ArrayList<>();

    private @Nullable MappedMemory last;

    MulticastPieces(Ranks ranks, Map<CudaDevice, CopyLane> lanes, Function<CudaDevice, List<CudaDevice>> viewers) {
        this.ranks = ranks;
        own = new OwnPieces(ranks, lanes, (device, bytes) -> {
            MappedMemory made = MappedMemory.of(device, bytes, viewers.apply(device));
            last = made;
            return new OwnPieces.Allocation.Block(made.address(), made::free);
        });
    }

    @Override
    public int add(int place, long bytes, boolean lines) {
        int piece = own.add(place, bytes, lines);
        memory.add(Objects.requireNonNull(last));
        return piece;
    }

    @Override
    public long leastBytes() {
        return MappedMemory.GRANULE;
    }

    @Override
    public void share(String what) {
        own.share(what);
    }

    @Override
    public long address(int piece, CudaDevice viewer) {
        return own.address(piece, viewer);
    }

    @Override
    public boolean multicasts() {
        return true;
    }

    @Override
    public long multicast(List<Integer> ofPlaces, String what) {
        MulticastMemory made = MulticastMemory.of(
                        ranks.held(), ofPlaces.stream().map(memory::get).toList())
                .orElseThrow();
        objects.add(made);
        return made.address();
    }

    @Override
    public void clearLines(Function<CudaDevice, CUstream> streams) {
        own.clearLines(streams);
    }

    @Override
    public List<Integer> free() {
        List<Integer> results = objects.stream().map(MulticastMemory::free).toList();
        return Stream.concat(results.stream(), own.free().stream()).toList();
    }
}
