package dev.banyan.nvml;

/**
 * One NVLink of a GPU that is up and can be used for peers.
 *
 * @param end what is at its other end
 * @param remote where that is; of no meaning where the driver does not know
 * @param version NVML's number of the NVLink version (1 is 1.0, 2 is 2.0, 3 is 2.2, 4 is 3.0, 5 is 3.1, 6 is 4.0,
 *     7 is 5.0), or 0 where it is not known
 */
record NvLink(End end, PciAddress remote, int version) {
    /** Kinds of other ends. */
    enum End {
        GPU,
        NVSWITCH,
        /** A CPU (IBM Power). */
        CPU,
        UNKNOWN
    }
}
