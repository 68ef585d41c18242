package dev.banyan.simulate.internal.nccl;

import dev.banyan.simulate.Constant;
import dev.banyan.simulate.Profile;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * NCCL's ways to carry a call: a protocol by which its kernels signal along rings that data have arrived, which decides
 * a hop's latency and bandwidth, or trees, or a reduction in the switch.
 */
public enum Protocol {
    /** A flag beside every 4 bytes: least latency, and half of the links' bandwidth at most. */
    LL("LL", Constant.NCCL_LL_BASE_US, Constant.NCCL_LL_HOP_US, Constant.NCCL_LL_FRACTION, null),
    /** A flag in every 128 bytes, which takes links that keep the order of stores. */
    LL128("LL128", Constant.NCCL_LL128_BASE_US, Constant.NCCL_LL128_HOP_US, Constant.NCCL_LL128_FRACTION, null),
    /** A counter beside whole slices: all of the bandwidth, and the most latency. */
    SIMPLE(
            "Simple",
            Constant.NCCL_SIMPLE_BASE_US,
            Constant.NCCL_SIMPLE_HOP_US,
            Constant.NCCL_SIMPLE_FRACTION,
            Constant.NCCL_SIMPLE_FILL_US),
    /** Trees of a graph file in place of its rings, which signal as {@link #SIMPLE} does. */
    TREES(
            "trees/Simple",
            Constant.NCCL_SIMPLE_BASE_US,
            Constant.NCCL_SIMPLE_HOP_US,
            Constant.NCCL_SIMPLE_FRACTION,
            Constant.NCCL_SIMPLE_FILL_US),
    /** No ring: the switch reduces what it reads from all devices, and sends the result to all (NVLink SHARP). */
    NVLS("NVLS", Constant.NCCL_NVLS_BASE_US, null, Constant.NCCL_NVLS_FRACTION, Constant.NCCL_NVLS_FILL_US);

    /** The protocols of rings. */
    static final List<Protocol> OF_RINGS = List.of(LL, LL128, SIMPLE);

    private final String label;
    private final Constant baseUs;
    private final @Nullable Constant hopUs;
    private final Constant fraction;
    private final @Nullable Constant fillUs;

    Protocol(String label, Constant baseUs, @Nullable Constant hopUs, Constant fraction, @Nullable Constant fillUs) {
        this.label = label;
        this.baseUs = baseUs;
        this.hopUs = hopUs;
        this.fraction = fraction;
        this.fillUs = fillUs;
    }

    /** Its name in reports. */
    public String label() {
        return label;
    }

    /** The constant of what a call takes beyond its hops and its data. */
    Constant baseUs() {
        return baseUs;
    }

    /** The constant of what each hop of a ring or a tree takes beyond its data. */
    Constant hopUs() {
        return Objects.requireNonNull(hopUs, "a switch has no hops");
    }

    /** Returns what a hop, or the switch, takes more once data are enough for all channels, in us. */
    double fillUs(Profile profile) {
        return fillUs == null ? 0 : profile.get(fillUs);
    }

    /** The constant of the fraction of what links carry that it fills with data; 0 where it is not used. */
    Constant fraction() {
        return fraction;
    }
}
