package dev.banyan.dlc.internal.replay;

import java.util.List;

/**
 * The result of a replay. Times are in us.
 *
 * @param messages messages that were simulated
 * @param iterations iterations that they make
 * @param tracedUs time from the beginning of the first iteration to the end of the last, as recorded
 * @param predictedUs the same on the simulator's machine
 * @param serversApart whether servers had devices of their own
 * @param keys the keys, by index
 */
public record Replayed(
        int messages, int iterations, double tracedUs, double predictedUs, boolean serversApart, List<KeyTime> keys) {
    public Replayed {
        keys = List.copyOf(keys);
    }

    /**
     * From a key's push until its value is there, as a mean over iterations and workers.
     *
     * @param key index of the parameter
     * @param tracedUs as recorded
     * @param predictedUs on the simulator's machine
     */
    public record KeyTime(int key, double tracedUs, double predictedUs) {}
}
