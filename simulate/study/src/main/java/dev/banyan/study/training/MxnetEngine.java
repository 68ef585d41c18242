package dev.banyan.study.training;

import dev.banyan.simulate.Constant;
import dev.banyan.simulate.Profile;

/**
 * The costs of MXNet's dependency engine for the key stores that run on it.
 *
 * <p>Every copy and every sum is an operation of the engine. The caller's thread queues those of a push and a
 * pull; once an operation's inputs are there, a worker thread of the device launches it, waits for the device's
 * stream and releases the operations that depend on it. None of these figures is measured on the machine that the
 * original design used. They are the same for all stores, models and sizes.
 */
final class MxnetEngine {
    /**
     * From when an operation's inputs are there to when the next one knows of its end, without its own work.
     * Assumed: a launch and the wait for its stream take about 10 us, and so does waking a thread. Less than
     * half of what MXNet 1.2 spends on a V100 at batch 1 for each of three operations per key that inception-v3
     * has more than resnet-50: 1/21.83 s less 1/34.54 s over 3 x 127.
     */
    static final double OPERATION_US = 20;

    /** Worker threads of a device: MXNET_GPU_WORKER_NTHREADS, by default. */
    private static final double WORKERS = 2;

    /** Time of the caller's thread for a call from Python, in us. Assumed. */
    private static final double CALL_US = 10;

    /** Time of the caller's thread to queue an operation, in us. Assumed. */
    private static final double QUEUE_US = 3;

    private MxnetEngine() {}

    /** A machine's constants with those of the engine's workers instead of a recorded plan's. */
    static Profile on(Profile machine) {
        String source = "assumed of MXNet's engine: " + OPERATION_US + " us per operation, " + WORKERS + " workers";
        return machine.with(Constant.LAUNCH_US, OPERATION_US, source)
                .with(Constant.ISSUE_US, OPERATION_US / WORKERS, source)
                .with(Constant.COLLECTIVE_US, 0, "counted where operations are queued");
    }

    /** Time of the caller's thread for a push and a pull of a key, in us. */
    static double pushPullUs(int operations) {
        return 2 * CALL_US + queueUs(operations);
    }

    /** The same without the calls. */
    static double queueUs(int operations) {
        return operations * QUEUE_US;
    }
}
