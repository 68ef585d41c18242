package dev.banyan.gpuday;

import jcuda.driver.CUdeviceptr;

/** An address of a device's memory as a number; JCuda hides it. */
final class Address extends CUdeviceptr {
    /** To be set by the driver. */
    Address() {}

    private Address(long address) {
        super(new CUdeviceptr(), address);
    }

    long value() {
        return getNativePointer() + getByteOffset();
    }

    Address plus(long bytes) {
        return new Address(value() + bytes);
    }
}
