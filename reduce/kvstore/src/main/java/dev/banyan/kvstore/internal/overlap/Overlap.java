package dev.banyan.kvstore.internal.overlap;

/**
 * The times of a backward pass, which say how much of the communication it hid.
 *
 * @param computeUs time of the computation in us
 * @param communicationUs time of the communication without computation in us
 * @param stepUs time of both together in us
 */
public record Overlap(double computeUs, double communicationUs, double stepUs) {
    /**
     * Returns the time in us of the communication that the computation did not hide: the step without the computation.
     */
    public double exposedUs() {
        return Math.max(0, stepUs - computeUs);
    }

    /** Returns the hidden share of the communication, 0 to 1; 0 if there is none. */
    public double ratio() {
        return communicationUs <= 0 ? 0 : Math.clamp(1 - exposedUs() / communicationUs, 0, 1);
    }
}
