package dev.banyan.dlc;

/**
 * Lengths of a key's messages in bytes, as means over iterations and workers; 0 for those that no trace has.
 *
 * @param key index of the parameter
 * @param pushBytes the gradient
 * @param acknowledgementBytes the answer to it
 * @param requestBytes the request to pull
 * @param pullBytes the value
 */
public record KeyTraffic(
        int key, double pushBytes, double acknowledgementBytes, double requestBytes, double pullBytes) {}
