package dev.banyan.cuda.internal.driver;

import jcuda.driver.CUstream;

/** A stream whose handle is known as a number; JCuda hides it. */
public final class DriverStream extends CUstream {
    public long handle() {
        return getNativePointer();
    }
}
