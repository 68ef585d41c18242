package dev.banyan.msccl;

/**
 * The limits of the runtimes, by {@code msccl.h} and the XML parser of microsoft/msccl and by {@code msccl_struct.h}
 * and {@code msccl_parser.cc} of ROCm/rccl and Azure/msccl-executor-nccl; the least where they differ.
 */
final class Limits {
    /** MAXCHANNELS. */
    static final int CHANNELS = 32;
    /** A dependency names its threadblock in 8 bits with sign. */
    static final int THREADBLOCKS = 128;
    /** MSCCL_MAX_NUM_THREAD_BLOCKS_PER_CHANNEL less one: the parsers touch the entry after the last. */
    static final int PEERS = 31;
    /** MSCCL_MAX_NUM_STEPS, no-instructions included. */
    static final int STEPS = 256;
    /** MSCCL_MAX_COUNT less one. */
    static final int COUNT = 71;
    /** Offsets are in 16 bits with sign. */
    static final int CHUNKS = Short.MAX_VALUE;
    /** MSCCL_MAX_NODES; a rank's parser keeps all elements of its own GPU, and the other GPUs themselves. */
    static final int ELEMENTS = 4096;

    private Limits() {}
}
