package dev.banyan.simulate;

/** The memory of calls, as far as the time of an exchange depends on it. */
public enum CallBuffers {
    /** Buffers of {@code Communicator.allocateAll}, which kernels on all devices load and store. */
    ALLOCATED,
    /** Memory of any owner, which the blocks of an exchange copy through a staging buffer. */
    ANY
}
