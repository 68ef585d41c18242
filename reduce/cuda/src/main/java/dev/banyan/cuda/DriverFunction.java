package dev.banyan.cuda;

import jcuda.driver.CUfunction;

/** A kernel whose handle is known as a number; JCuda hides it. */
final class DriverFunction extends CUfunction {
    long handle() {
        return getNativePointer();
    }
}
