package dev.banyan.cuda.internal.driver;

import jcuda.Pointer;

/** An address of the host as a number; JCuda hides it. */
public final class HostAddress extends Pointer {
    /** To be set by the driver. */
    HostAddress() {}

    public HostAddress(long address) {
        super(address);
    }

    long value() {
        return getNativePointer() + getByteOffset();
    }
}
