package dev.banyan.simulate.internal.nccl;

/** The transport of data between devices that no NVLink connects. */
public enum Transport {
    /** A device writes into the other's memory: over NVLink, or through PCIe switches where there is none. */
    PEER,
    /** One device writes into the host's memory and the other reads it there, as without peer access. */
    HOST
}
