package dev.banyan.kvstore;

/** How a store shortens gradients of F32 on their way to the server. What is pulled is not shortened. */
public sealed interface Compression {
    /**
     * Two bits for each element, as MXNet's users know them: what a device pushes is added to what it still owes;
     * of that, at least the threshold becomes the threshold, at most minus the threshold becomes minus the threshold,
     * anything between becomes 0; the rest is owed to the next push. So nothing is lost, some is late. The server
     * reads the codes of all devices, a sixteenth of the bytes, and sums them up in the order of ranks.
     *
     * <p>Each device keeps as many elements as the key has for what it owes.
     *
     * <p>Source: F. Seide et al., "1-bit stochastic gradient descent and its application to data-parallel distributed
     * training of speech DNNs", Interspeech 2014; N. Strom, "Scalable distributed DNN training using commodity GPU
     * cloud computing", Interspeech 2015, for the threshold.
     *
     * @param threshold above 0
     */
    record TwoBit(float threshold) implements Compression {
        public TwoBit {
            if (!(threshold > 0) || Float.isInfinite(threshold)) {
                throw new IllegalArgumentException(
                        "2-bit compression with threshold " + threshold + "; it must be above 0 and finite");
            }
        }
    }

    /**
     * Half of the bits: elements become F16, to the nearest, are summed up as such (each reduction step in 32-bit)
     * and become F32 again. A push-pull without an updater brings the sum back as F16 too. What is beyond 65504
     * becomes infinite.
     */
    record Half() implements Compression {}
}
