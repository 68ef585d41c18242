package dev.banyan.cuda;

import jcuda.driver.CUdeviceptr;

/** An address as a number; JCuda hides it. */
final class DeviceAddress extends CUdeviceptr {
    /** To be set by the driver. */
    DeviceAddress() {}

    DeviceAddress(long address) {
        super(new CUdeviceptr(), address);
    }

    long value() {
        return getNativePointer() + getByteOffset();
    }
}
