package dev.banyan.gpuday;

import java.util.function.BiConsumer;

/** The measurements. Each uses every GPU that the driver shows, and needs one. */
public enum DayPart {
    /** The GPUs, the driver, and which GPUs reach each other. */
    CARDS("cards", (recorder, effort) -> Cards.run(recorder)),
    /** Time of a launch of a graph by its number of nodes. */
    GRAPH_LAUNCH("graph-launch", (recorder, effort) -> new GraphLaunches(recorder, effort).run()),
    /** Time of the launch of a kernel on every GPU, by one thread and by a thread per GPU. */
    KERNEL_LAUNCH("kernel-launch", (recorder, effort) -> new KernelLaunches(recorder, effort).run()),
    /** Time until the host sees the ends of kernels, by words and by events. */
    KERNEL_END("kernel-end", (recorder, effort) -> new KernelEnds(recorder, effort).run()),
    /** Round trips of flags and of slices between two blocks of one GPU, and between GPUs. */
    FLAGS("flags", (recorder, effort) -> new FlagRounds(recorder, effort).run()),
    /** Reductions of 2 to 8 arrays against copies of as many bytes. */
    REDUCTIONS("reductions", (recorder, effort) -> new Reductions(recorder, effort).run()),
    /** Bandwidth of copies at once, to and from the host and to peers. */
    COPIES_AT_ONCE("copies-at-once", (recorder, effort) -> new CopiesAtOnce(recorder, effort).run()),
    /** Bandwidth of every pair by copy engines, by a kernel's loads and by a kernel's stores. */
    PEER_BANDWIDTH("peer-bandwidth", (recorder, effort) -> new PeerBandwidths(recorder, effort).run()),
    /** Bits that instructions load and store by multicast addresses, on one GPU. */
    MULTICAST("multicast", (recorder, effort) -> MulticastChecks.run(recorder));

    private final String label;

    @SuppressWarnings("ImmutableEnumChecker") // The functions have no state.
    private final BiConsumer<Recorder, Effort> measurement;

    DayPart(String label, BiConsumer<Recorder, Effort> measurement) {
        this.label = label;
        this.measurement = measurement;
    }

    /** Its name for people and in files. */
    public String label() {
        return label;
    }

    /**
     * Measures on the calling thread.
     *
     * @throws SkippedException if it has no meaning on this machine
     * @throws MeasurementException if the driver reports an error
     * @throws dev.banyan.cuda.type.CudaException if there is no driver or no device
     */
    public void run(Recorder recorder, Effort effort) {
        measurement.accept(recorder, effort);
    }
}
