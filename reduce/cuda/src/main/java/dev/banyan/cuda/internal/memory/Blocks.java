package dev.banyan.cuda.internal.memory;

import dev.banyan.cuda.internal.driver.Cuda;
import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.driver.DeviceAddress;
import java.util.ArrayList;
import java.util.List;
import jcuda.driver.JCudaDriver;

/**
 * Receive buffers of one device, which plans share, as they run one at a time. A plan takes the smallest block
 * that is long enough; if none is, a new one of the next power of two, so that all together take less than twice
 * the greatest.
 */
public final class Blocks {
    private static final long LEAST = 1 << 20;

    private record Block(DeviceAddress address, long bytes) {}

    private final CudaDevice device;
    private final List<Block> blocks = new ArrayList<>();

    public Blocks(CudaDevice device) {
        this.device = device;
    }

    /** Length of the block that holds so many bytes. */
    public static long rounded(long bytes) {
        return Math.max(LEAST, bytes <= 1 ? 1 : Long.highestOneBit(bytes - 1) << 1);
    }

    /** Address of a block of at least that length; 0 for no bytes. */
    public long take(long bytes) {
        if (bytes == 0) {
            return 0;
        }
        for (Block block : blocks) {
            if (block.bytes() >= bytes) {
                return block.address().value();
            }
        }
        long length = rounded(bytes);
        DeviceAddress address = device.allocate(length, " for receive buffers");
        blocks.add(new Block(address, length));
        return address.value();
    }

    /** @param sound whether the device still works; if not, its memory is gone already */
    public void free(boolean sound) {
        for (Block block : blocks) {
            int result = JCudaDriver.cuMemFree(block.address());
            if (sound) {
                Cuda.check(result, "cuMemFree on device " + device.ordinal());
            }
        }
        blocks.clear();
    }
}
