package dev.banyan.cuda.internal.driver;

import jcuda.driver.CUfunction;

/** A kernel whose handle is known as a number; JCuda hides it. */
public final class DriverFunction extends CUfunction {
    long handle() {
        return getNativePointer();
    }
}
