package dev.banyan.simulate;

import dev.banyan.topology.Link;

/**
 * The constants of a {@link Profile}. {@link Simulator} and {@link ProgramSimulator} explain how each is used.
 */
public enum Constant {
    /** Fraction of an NVLink's nominal bandwidth that large copies reach. */
    NVLINK_EFFICIENCY("nvlink.efficiency", Range.FRACTION),
    /** Latency of an NVLink hop beyond what the machine says of the link, in us. */
    NVLINK_HOP_US("nvlink.hopUs", Range.EXTRA_US),
    /** Fraction of an xGMI link's nominal bandwidth that large copies reach. */
    XGMI_EFFICIENCY("xgmi.efficiency", Range.FRACTION),
    /** Latency of an xGMI hop beyond what the machine says of the link, in us. */
    XGMI_HOP_US("xgmi.hopUs", Range.EXTRA_US),
    /** Fraction of a PCIe link's bandwidth, as the machine states it, that large copies reach. */
    PCIE_EFFICIENCY("pcie.efficiency", Range.FRACTION),
    /** Latency of a PCIe hop beyond what the machine says of the link, in us. */
    PCIE_HOP_US("pcie.hopUs", Range.EXTRA_US),
    /** Queueing on a PCIe link: with f transfers at once it carries 1 / (1 + q (f - 1)) of what one gets. */
    PCIE_QUEUEING("pcie.queueing", Range.QUEUEING),
    /** Fraction of a socket link's bandwidth, as the machine states it, that large copies reach. */
    SOCKET_EFFICIENCY("socket.efficiency", Range.FRACTION),
    /** Latency of a hop between sockets beyond what the machine says of the link, in us. */
    SOCKET_HOP_US("socket.hopUs", Range.EXTRA_US),
    /** Queueing on a link between sockets, as on a PCIe link. */
    SOCKET_QUEUEING("socket.queueing", Range.QUEUEING),
    /** Bytes that a reduction kernel reads and writes per time, in GB/s. */
    REDUCE_GBS("reduceGbs", Range.GBS),
    /** Latency of a reduction kernel beyond that of a launch, in us. */
    KERNEL_US("kernelUs", Range.US),
    /** Time of a stream to launch one copy or kernel, in us. */
    LAUNCH_US("launchUs", Range.US),
    /** Time of the host to issue one copy or kernel, in us; 0 where a plan is replayed as a graph. */
    ISSUE_US("issueUs", Range.US),
    /** Time of the host to start one collective, in us. */
    COLLECTIVE_US("collectiveUs", Range.US),
    /** Greatest number of copies that leave a device at once, and of those that enter it. */
    COPY_ENGINES("copyEngines", Range.COUNT),
    /** NCCL's LL protocol: what a call takes beyond its hops and its data, in us. */
    NCCL_LL_BASE_US("nccl.llBaseUs", Range.US),
    /** NCCL's LL protocol: what each hop of a ring takes beyond its data, in us. */
    NCCL_LL_HOP_US("nccl.llHopUs", Range.US),
    /** NCCL's LL protocol: fraction of what links carry that it fills with data; 0 where it is not used. */
    NCCL_LL_FRACTION("nccl.llFraction", Range.USE),
    /** As for LL. */
    NCCL_LL128_BASE_US("nccl.ll128BaseUs", Range.US),
    /** As for LL. */
    NCCL_LL128_HOP_US("nccl.ll128HopUs", Range.US),
    /** As for LL. */
    NCCL_LL128_FRACTION("nccl.ll128Fraction", Range.USE),
    /** As for LL. */
    NCCL_SIMPLE_BASE_US("nccl.simpleBaseUs", Range.US),
    /** As for LL. */
    NCCL_SIMPLE_HOP_US("nccl.simpleHopUs", Range.US),
    /** As for LL. */
    NCCL_SIMPLE_FRACTION("nccl.simpleFraction", Range.USE),
    /** NCCL's Simple protocol: what each hop takes more once data are enough for all channels, in us. */
    NCCL_SIMPLE_FILL_US("nccl.simpleFillUs", Range.US),
    /** NCCL's reduction in the switch (NVLS): what a call takes beyond its data, in us. */
    NCCL_NVLS_BASE_US("nccl.nvlsBaseUs", Range.US),
    /** NCCL's reduction in the switch: fraction of a device's nominal bandwidth that it fills; 0 where not used. */
    NCCL_NVLS_FRACTION("nccl.nvlsFraction", Range.USE),
    /** NCCL's reduction in the switch: what a call takes more once data are enough for all channels, in us. */
    NCCL_NVLS_FILL_US("nccl.nvlsFillUs", Range.US),
    /** Time of a process to launch NCCL's kernel of few channels on one of its devices, in us. */
    NCCL_LAUNCH_US("nccl.launchUs", Range.US),
    /** Time that such a launch takes more where the kernel has all channels, in us. */
    NCCL_LAUNCH_FILL_US("nccl.launchFillUs", Range.US),
    /** Fraction of host memory's one-way rate that each way keeps while a device sends and receives. */
    HOST_DUPLEX("host.duplex", Range.FRACTION),
    /** Device programs: from the call to the begin of the kernel on the first device, in us. */
    PROGRAM_LAUNCH_US("program.launchUs", Range.US),
    /** Device programs: how much later the kernel on each further device begins, in us, with a thread for each. */
    PROGRAM_LAUNCH_STEP_US("program.launchStepUs", Range.US),
    /** Device programs: from the end of the last block until the host has seen it, in us. */
    PROGRAM_END_US("program.endUs", Range.US),
    /** Device programs: from the end of a store to another device until a flag behind it is seen there, in us. */
    PROGRAM_FLAG_US("program.flagUs", Range.US),
    /** Device programs: from the end of a store of lines to another device until they are seen there, in us. */
    PROGRAM_LINE_US("program.lineUs", Range.US),
    /** Device programs: what a block takes for each slice of plain data beyond moving it, in us. */
    PROGRAM_SLICE_US("program.sliceUs", Range.US),
    /** Device programs: bytes that a block of 512 threads loads and stores per time, in GB/s. */
    PROGRAM_BLOCK_GBS("program.blockGbs", Range.GBS),
    /** Device programs: fraction of what a copy reaches on a link that stores of a kernel reach. */
    PROGRAM_STORE_FRACTION("program.storeFraction", Range.FRACTION),
    /** Exchanges: fraction of what copies reach on all links at once that loads and stores reach; 0 where not used. */
    EXCHANGE_LINK_FRACTION("exchange.linkFraction", Range.USE),
    /** Exchanges by a switch that adds up and copies: fraction of what copies reach; 0 where not used. */
    EXCHANGE_MULTICAST_FRACTION("exchange.multicastFraction", Range.USE);

    private enum Range {
        /** Above 1 is possible where the machine states less than the hardware's peak. */
        FRACTION("above 0 and at most 1.5", 0, 1.5, false),
        USE("from 0 to 1.5", 0, 1.5, true),
        EXTRA_US("from -1000 to 1000", -1000, 1000, true),
        QUEUEING("from 0 to 10", 0, 10, true),
        GBS("above 0 and at most 1000000", 0, 1e6, false),
        US("from 0 to 1000000", 0, 1e6, true),
        COUNT("a whole number from 1 to 1000000", 1, 1e6, true);

        private final String words;
        private final double least;
        private final double most;
        private final boolean leastIncluded;

        Range(String words, double least, double most, boolean leastIncluded) {
            this.words = words;
            this.least = least;
            this.most = most;
            this.leastIncluded = leastIncluded;
        }

        boolean moreIsFaster() {
            return switch (this) {
                case FRACTION, USE, GBS, COUNT -> true;
                case EXTRA_US, QUEUEING, US -> false;
            };
        }

        boolean holds(double value) {
            boolean inside = leastIncluded ? value >= least && value <= most : value > least && value <= most;
            return inside && (this != COUNT || value == Math.rint(value));
        }
    }

    private final String key;
    private final Range range;

    Constant(String key, Range range) {
        this.key = key;
        this.range = range;
    }

    /** Its name in a profile's JSON. */
    public String key() {
        return key;
    }

    /** Returns whether a value is possible. */
    public boolean allows(double value) {
        return range.holds(value);
    }

    /** The possible values in words, to follow "it must be". */
    public String allowed() {
        return range.words;
    }

    /** Returns whether it is of device programs alone; older profiles do not have those. */
    boolean isOfPrograms() {
        return key.startsWith("program.");
    }

    /**
     * Returns whether it is 0 in profiles that do not have it: what was not measured of a class is not in the model.
     */
    boolean isOptional() {
        return switch (this) {
            case NCCL_NVLS_BASE_US,
                    NCCL_NVLS_FRACTION,
                    NCCL_NVLS_FILL_US,
                    NCCL_SIMPLE_FILL_US,
                    NCCL_LAUNCH_FILL_US,
                    EXCHANGE_LINK_FRACTION,
                    EXCHANGE_MULTICAST_FRACTION -> true;
            default -> false;
        };
    }

    /** Returns whether calls take less time if the value is greater. */
    boolean moreIsFaster() {
        return range.moreIsFaster();
    }

    static Constant efficiencyOf(Link.Kind kind) {
        return switch (kind) {
            case NVLINK -> NVLINK_EFFICIENCY;
            case XGMI -> XGMI_EFFICIENCY;
            case PCIE, OTHER -> PCIE_EFFICIENCY;
            case SOCKET -> SOCKET_EFFICIENCY;
        };
    }

    static Constant hopOf(Link.Kind kind) {
        return switch (kind) {
            case NVLINK -> NVLINK_HOP_US;
            case XGMI -> XGMI_HOP_US;
            case PCIE, OTHER -> PCIE_HOP_US;
            case SOCKET -> SOCKET_HOP_US;
        };
    }
}
