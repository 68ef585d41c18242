package dev.banyan.trees.ring;

/** How rings are written. */
final class Rings {
    private Rings() {}

    /** The ring turned so that it begins with device 0. */
    static int[] fromZero(int[] ring) {
        int n = ring.length;
        int zero = 0;
        while (ring[zero] != 0) {
            zero++;
        }
        int[] turned = new int[n];
        for (int i = 0; i < n; i++) {
            turned[i] = ring[(zero + i) % n];
        }
        return turned;
    }

    /** The ring that begins with device 0 in that of its directions whose second device is less than its last. */
    static int[] forwards(int[] ring) {
        int n = ring.length;
        if (ring[1] < ring[n - 1]) {
            return ring;
        }
        int[] turned = new int[n];
        for (int i = 0; i < n; i++) {
            turned[i] = ring[(n - i) % n];
        }
        return turned;
    }
}
