package dev.banyan.simulate.training;

import dev.banyan.simulate.Constant;
import dev.banyan.simulate.Profile;

/**
 * What MXNet's dependency engine costs, for key stores that run on it.
 *
 * <p>Every copy and every sum is an operation of the engine: the caller's thread queues it with the others of
 * its push or pull; when its inputs are ready, a worker thread of the device takes it up, launches it, waits
 * for the device's stream, and tells the operations that depend on it.
 */
final class MxnetEngine {
    private static final double OPERATION_US = 20;
    private static final double PUSH_PULL_US = 40;

    private MxnetEngine() {}

    /** A machine's constants with those of the engine instead of a recorded plan's. */
    static Profile on(Profile machine) {
        return machine.with(
                        Constant.ISSUE_US,
                        OPERATION_US,
                        "assumed: a launch and the wait for its stream take about 10 us, and MXNet 1.2 trains"
                                + " inception-v3 at batch 1 on a V100 at 21.83 images/s and resnet-50 at 34.54, which"
                                + " is 44 us for each of three operations per key that it has more")
                .with(
                        Constant.COLLECTIVE_US,
                        PUSH_PULL_US,
                        "assumed: two calls from Python, a push and a pull, of 20 us each");
    }
}
