package dev.banyan.study.training;

import java.util.List;

/**
 * A way to sum up keys over the devices of a machine and to give every device the sums: a push and a pull of
 * each. {@link KeyStores} has those that can be compared. Implementations are safe for use from any thread; the
 * same gradients give the same times.
 */
public interface KeyStore {
    /** Returns its name in tables and charts, e.g. {@code parameter server}. */
    String name();

    /**
     * Pushes and pulls keys, all of them at once as far as they are ready.
     *
     * @param gradients in the order of their priority: where two could go on, the first does
     * @return by key, when every device has the sum, in us
     */
    double[] doneUs(List<Gradient> gradients);
}
