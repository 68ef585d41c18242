package dev.banyan.msccl;

/** The protocols of a connection between two GPUs, as NCCL names them. */
public enum MscclProtocol {
    /** Large pieces and one flag for each: most bandwidth. */
    SIMPLE("Simple", 2),
    /** A flag with every 4 bytes: least latency, half the bandwidth. */
    LL("LL", 8),
    /** A flag with every 120 bytes: low latency at nearly full bandwidth, over NVLink alone. */
    LL128("LL128", 8);

    private final String label;
    private final int slots;

    MscclProtocol(String label, int slots) {
        this.label = label;
        this.slots = slots;
    }

    /** Name in the file. */
    public String label() {
        return label;
    }

    /** Pieces that a connection holds between sender and receiver: NCCL_STEPS (8) over the steps of a piece. */
    int slots() {
        return slots;
    }
}
