package dev.banyan.trees.ring;

/** What both searches share. */
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
}
