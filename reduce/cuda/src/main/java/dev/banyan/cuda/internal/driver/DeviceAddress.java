package dev.banyan.cuda.internal.driver;

import jcuda.driver.CUdeviceptr;

/** An address as a number; JCuda hides it. */
public final class DeviceAddress extends CUdeviceptr {
    /** To be set by the driver. */
    public DeviceAddress() {}

    public DeviceAddress(long address) {
        super(new CUdeviceptr(), address);
    }

    public long value() {
        return getNativePointer() + getByteOffset();
    }
}
