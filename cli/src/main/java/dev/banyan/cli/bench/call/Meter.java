package dev.banyan.cli.bench.call;

import dev.banyan.reduce.Communicator;
import java.util.function.Function;

/**
 * Measures or predicts one algorithm at one point after another.
 *
 * @param <P> a point, e.g. a size
 * @param <R> a measurement
 */
public interface Meter<P, R> extends AutoCloseable {
    R measure(P point);

    @Override
    default void close() {}

    /** Measures on a communicator, which is closed with the meter. */
    static <P, R> Meter<P, R> on(Communicator communicator, Function<P, R> measurement) {
        return new Meter<>() {
            @Override
            public R measure(P point) {
                return measurement.apply(point);
            }

            @Override
            public void close() {
                communicator.close();
            }
        };
    }
}
