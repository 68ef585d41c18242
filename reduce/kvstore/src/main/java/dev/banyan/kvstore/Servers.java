package dev.banyan.kvstore;

/**
 * Assigns keys to devices so that all hold about as many bytes. Consecutive small keys stay on one device up to the
 * bytes that share one collective, so that they can share it. Not safe for use from several threads.
 */
final class Servers {
    private final long[] bytes;
    private final long run;
    private int current;
    private long inRun;

    /**
     * @param ranks number of devices
     * @param run bytes of small keys that stay together; keys of more bytes are not small
     */
    Servers(int ranks, long run) {
        bytes = new long[ranks];
        this.run = run;
    }

    /** Returns the device of the next key. */
    int next(long keyBytes) {
        int server;
        if (keyBytes > run) {
            server = least();
        } else {
            if (inRun == 0 || inRun + keyBytes > run) {
                current = least();
                inRun = 0;
            }
            inRun += keyBytes;
            server = current;
        }
        bytes[server] += keyBytes;
        return server;
    }

    private int least() {
        int least = 0;
        for (int rank = 1; rank < bytes.length; rank++) {
            if (bytes[rank] < bytes[least]) {
                least = rank;
            }
        }
        return least;
    }
}
