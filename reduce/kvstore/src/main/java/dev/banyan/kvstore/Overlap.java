package dev.banyan.kvstore;

/**
 * How much communication a backward pass hid.
 *
 * @param computeUs time of the computation in us
 * @param communicationUs time of the communication without computation in us
 * @param stepUs time of both together in us
 */
public record Overlap(double computeUs, double communicationUs, double stepUs) {
    /** Communication that computation did not hide, in us: what the step takes beyond its computation. */
    public double exposedUs() {
        return Math.max(0, stepUs - computeUs);
    }

    /** Share of the communication that was hidden, 0 to 1; 0 if there is none. */
    public double ratio() {
        return communicationUs <= 0 ? 0 : Math.clamp(1 - exposedUs() / communicationUs, 0, 1);
    }
}
