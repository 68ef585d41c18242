package dev.banyan.reduce.host;

import org.jspecify.annotations.Nullable;

/** A fast loop for usual values, and a slower one for all values, which goes on where the first one stops. */
final class GuardedLoop extends FusedLoop {
    private final FusedLoop usual;
    private final HalfLoop all;

    GuardedLoop(FusedLoop usual, HalfLoop all) {
        this.usual = usual;
        this.all = all;
    }

    @Override
    int run(long[] addresses, int bytes, int divisor, @Nullable HalfBlock block) {
        int done = usual.run(addresses, bytes, divisor, block);
        if (done < bytes) {
            all.runFrom(done, addresses, bytes, divisor, block);
        }
        return bytes;
    }
}
