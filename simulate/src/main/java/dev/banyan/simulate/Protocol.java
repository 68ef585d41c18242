package dev.banyan.simulate;

/** How NCCL's kernels signal to each other that data have arrived: it decides a hop's latency and bandwidth. */
public enum Protocol {
    /** A flag beside every 4 bytes: least latency, and half of the links' bandwidth at most. */
    LL("LL", Constant.NCCL_LL_BASE_US, Constant.NCCL_LL_HOP_US, Constant.NCCL_LL_FRACTION),
    /** A flag in every 128 bytes, which takes links that keep the order of stores. */
    LL128("LL128", Constant.NCCL_LL128_BASE_US, Constant.NCCL_LL128_HOP_US, Constant.NCCL_LL128_FRACTION),
    /** A counter beside whole slices: all of the bandwidth, and the most latency. */
    SIMPLE("Simple", Constant.NCCL_SIMPLE_BASE_US, Constant.NCCL_SIMPLE_HOP_US, Constant.NCCL_SIMPLE_FRACTION);

    private final String label;
    private final Constant baseUs;
    private final Constant hopUs;
    private final Constant fraction;

    Protocol(String label, Constant baseUs, Constant hopUs, Constant fraction) {
        this.label = label;
        this.baseUs = baseUs;
        this.hopUs = hopUs;
        this.fraction = fraction;
    }

    /** NCCL's name of it, as its variable {@code NCCL_PROTO} takes it. */
    public String label() {
        return label;
    }

    /** The constant of what a call takes beyond its hops and its data. */
    Constant baseUs() {
        return baseUs;
    }

    /** The constant of what each hop takes beyond its data. */
    Constant hopUs() {
        return hopUs;
    }

    /** The constant of the fraction of what links carry that it fills with data; 0 where it is not used. */
    Constant fraction() {
        return fraction;
    }
}
