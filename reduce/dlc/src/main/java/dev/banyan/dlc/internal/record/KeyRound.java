package dev.banyan.dlc.internal.record;

import dev.banyan.dlc.internal.format.DlcMessage;
import dev.banyan.dlc.internal.format.DlcOperation;
import dev.banyan.dlc.internal.format.DlcRole;
import dev.banyan.kvstore.KeyInfo;
import java.util.Arrays;

/** A key's messages in one iteration of a recorded run; their times are the same for all workers. */
public final class KeyRound {
    private static final long NEVER = -1;

    final KeyInfo key;
    final int iteration;
    /** True if it is the first value that is pushed, by worker 0 alone. */
    final boolean initialises;
    /** True if the run has that of this key. */
    final boolean initialised;
    /** Counts the pushes with their pulls, over all keys. */
    final int pair;

    private final long[] workerUs = {NEVER, NEVER, NEVER, NEVER};
    private final long[] serverUs = {NEVER, NEVER, NEVER, NEVER};

    KeyRound(KeyInfo key, int iteration, boolean initialises, boolean initialised, int pair) {
        this.key = key;
        this.iteration = iteration;
        this.initialises = initialises;
        this.initialised = initialised;
        this.pair = pair;
    }

    void set(int message, long atWorkerUs, long atServerUs) {
        workerUs[message] = atWorkerUs;
        serverUs[message] = atServerUs;
    }

    boolean has(int message) {
        return workerUs[message] != NEVER;
    }

    /** Returns whether it has a message between a worker and the key's server. */
    boolean has(int message, int worker) {
        return has(message) && !(initialises && message <= 1 && worker > 0);
    }

    long timeUs(DlcRole role, int message) {
        return role == DlcRole.WORKER ? workerUs[message] : serverUs[message];
    }

    /** Returns the arrival of its last message, in us. */
    long endUs() {
        return Arrays.stream(workerUs).max().orElseThrow();
    }

    /** Column num_pp: odd for pushes, even for pulls. */
    int number(int message) {
        boolean push = message <= 1;
        return push && initialises ? DlcMessage.INITIALISES : 2 * pair + (push ? 1 : 2);
    }

    /** Bytes of a message: only gradients and values have any. */
    long length(int message) {
        return message == 0 || message == DlcOperation.MESSAGES - 1 ? key.bytes() : 0;
    }
}
