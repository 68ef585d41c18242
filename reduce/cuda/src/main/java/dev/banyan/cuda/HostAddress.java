package dev.banyan.cuda;

import jcuda.Pointer;

/** An address of the host as a number; JCuda hides it. */
final class HostAddress extends Pointer {
    /** To be set by the driver. */
    HostAddress() {}

    HostAddress(long address) {
        super(address);
    }

    long value() {
        return getNativePointer() + getByteOffset();
    }
}
