package dev.banyan.cuda.internal.driver;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
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
     * The answer of the driver to a question about an address.
     *
     * @param result the driver's result
     * @param value the attribute, if the result is success; of one with 4 bytes, the lower half
     */
    public record Attribute(int result, long value) {}

    /**
     * Asks the driver for an attribute of this address. Like {@link LaunchParameters}, this passes no array of the Java
     * heap: the driver may wait here for a thread that needs the garbage collector.
     *
     * @param attribute one of {@link jcuda.driver.CUpointer_attribute} that has 4 or 8 bytes
     */
    public Attribute attribute(int attribute) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment value = arena.allocate(ValueLayout.JAVA_LONG);
            int result = JCudaDriver.cuPointerGetAttribute(Pointer.to(value.asByteBuffer()), attribute, this);
            return new Attribute(result, value.get(ValueLayout.JAVA_LONG, 0));
        }
    }

    public long value() {
        return getNativePointer() + getByteOffset();
    }
}
