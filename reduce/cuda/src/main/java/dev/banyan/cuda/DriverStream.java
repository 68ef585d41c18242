package dev.banyan.cuda;

import jcuda.driver.CUstream;

/** A stream whose handle is known as a number; JCuda hides it. */
final class DriverStream extends CUstream {
    long handle() {
        return getNativePointer();
    }
}
