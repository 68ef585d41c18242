package dev.banyan.nvml;

/**
 * An NVLink of a GPU that is up and that peers may use.
 *
 * @param end the kind of device at its other end
 * @param remote the address of that device; without meaning if the driver does not know it
 * @param version NVML's number of the NVLink version (1 is 1.0, 2 is 2.0, 3 is 2.2, 4 is 3.0, 5 is 3.1, 6 is 4.0,
 *     7 is 5.0), or 0 if it is unknown
 */
record NvLink(End end, PciAddress remote, int version) {
    /** The kinds of devices at the other end of a link. */
    enum End {
        GPU,
        NVSWITCH,
        /** A CPU (IBM Power). */
        CPU,
        UNKNOWN
    }
}
