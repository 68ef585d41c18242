package dev.banyan.cuda.internal.memory;

import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.driver.DeviceAddress;
import dev.banyan.cuda.internal.driver.MappedMemory;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import jcuda.driver.CUresult;

/**
 * Allocates memory that is open to some devices. Mappings are long, so that short pieces share them; a mapping is freed
 * with the first of them. Used by one thread at a time.
 */
public final class OpenAllocation implements OwnPieces.Allocation {
    /** Pieces begin at multiples of it. */
    private static final long ALIGNMENT = 512;

    private final Function<CudaDevice, List<CudaDevice>> viewers;
    /** The rest of the memory that was mapped last. */
    private final Map<CudaDevice, Rest> rests = new HashMap<>();

    private record Rest(long address, long bytes) {}

    /** @param viewers the devices that a device's memory is open to, its own one among them */
    public OpenAllocation(Function<CudaDevice, List<CudaDevice>> viewers) {
        this.viewers = viewers;
    }

    @Override
    public Block allocate(CudaDevice device, long bytes) {
        long whole = Math.ceilDiv(bytes, ALIGNMENT) * ALIGNMENT;
        Rest rest = rests.getOrDefault(device, new Rest(0, 0));
        if (whole <= rest.bytes()) {
            rests.put(device, new Rest(rest.address() + whole, rest.bytes() - whole));
            return new Block(new DeviceAddress(rest.address()), () -> CUresult.CUDA_SUCCESS);
        }
        MappedMemory memory = MappedMemory.of(device, whole, viewers.apply(device));
        rests.put(device, new Rest(memory.address().value() + whole, memory.bytes() - whole));
        return new Block(memory.address(), memory::free);
    }
}
