package dev.banyan.cuda.internal.driver;

import java.lang.foreign.MemorySegment;
import jcuda.Pointer;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.JCudaDriver;

/** An address as a number; JCuda hides it. */
public final class DeviceAddress extends CUdeviceptr {
    /** To be set by the driver. */
    public DeviceAddress() {}

    public DeviceAddress(long address) {
        super(new CUdeviceptr(), address);
    }

    /**
     * Asks the driver for an attribute of this address. Like {@link LaunchParameters}, this passes no array of the Java
     * heap: the driver may wait here for a thread that needs the garbage collector.
     *
     * @param attribute one of {@link jcuda.driver.CUpointer_attribute} that has at most 8 bytes
     * @param value 8 bytes of native memory for the answer
     * @return the driver's result
     */
    public int attribute(int attribute, MemorySegment value) {
        return JCudaDriver.cuPointerGetAttribute(Pointer.to(value.asByteBuffer()), attribute, this);
    }

    public long value() {
        return getNativePointer() + getByteOffset();
    }
}
