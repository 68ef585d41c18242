package dev.banyan.topology.option;

/** The meaning of the entries of a plain matrix. */
public enum MatrixUnit {
    /** The classic link classes: 0 none, 1 PCIe (or anything between 0 and 1), 2 one NVLink, 3 two NVLinks or more. */
    CLASSES,
    /** One-way bandwidth from the row's device to the column's, in GB/s (1e9 bytes/s). */
    GBS
}
