package dev.banyan.kvstore;

import static java.lang.foreign.ValueLayout.JAVA_DOUBLE_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;

import dev.banyan.schedule.type.DataType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/**
 * Stochastic gradient descent with momentum, as MXNet's {@code sgd} does it: with learning rate l, momentum m,
 * weight decay d and a factor f on the gradient g (1 unless given; the gradient is the sum over all ranks),
 *
 * <pre>
 * velocity = m velocity - l (f g + d weight)
 * weight   = weight + velocity
 * </pre>
 *
 * <p>For keys of F32 and F64. Computes in the key's type, element by element: the same gradients give the same bits.
 * With momentum it keeps as many elements as the keys have, in the host's memory.
 *
 * <p>Give each store an instance of its own. Safe for use as {@link Updater} says. Source of the momentum: B. T.
 * Polyak, "Some methods of speeding up the convergence of iteration methods", 1964, <a
 * href="https://doi.org/10.1016/0041-5553(64)90137-5">doi:10.1016/0041-5553(64)90137-5</a>.
 */
public final class Sgd implements Updater {
    private final double learningRate;
    private final double momentum;
    private final double weightDecay;
    private final double gradientFactor;
    private final ConcurrentMap<Key, MemorySegment> velocities = new ConcurrentHashMap<>();

    /**
     * Creates an updater without momentum and weight decay that takes gradients as they are.
     *
     * @param learningRate finite, above 0
     * @throws IllegalArgumentException if it is out of range
     */
    public Sgd(double learningRate) {
        this(learningRate, 0, 0, 1);
    }

    private Sgd(double learningRate, double momentum, double weightDecay, double gradientFactor) {
        require(learningRate > 0 && Double.isFinite(learningRate), "learning rate", learningRate, "above 0");
        require(momentum >= 0 && momentum < 1, "momentum", momentum, "at least 0 and below 1");
        require(weightDecay >= 0 && Double.isFinite(weightDecay), "weight decay", weightDecay, "at least 0");
        require(Double.isFinite(gradientFactor), "factor on the gradient", gradientFactor, "finite");
        this.learningRate = learningRate;
        this.momentum = momentum;
        this.weightDecay = weightDecay;
        this.gradientFactor = gradientFactor;
    }

    private static void require(boolean holds, String what, double value, String allowed) {
        if (!holds) {
            throw new IllegalArgumentException("a " + what + " of " + value + "; it must be " + allowed);
        }
    }

    /**
     * Returns the same with another momentum and no velocities yet.
     *
     * @param newMomentum at least 0 and below 1
     * @throws IllegalArgumentException if it is out of range
     */
    public Sgd momentum(double newMomentum) {
        return new Sgd(learningRate, newMomentum, weightDecay, gradientFactor);
    }

    /**
     * Returns the same with another weight decay and no velocities yet.
     *
     * @param newWeightDecay finite, at least 0
     * @throws IllegalArgumentException if it is out of range
     */
    public Sgd weightDecay(double newWeightDecay) {
        return new Sgd(learningRate, momentum, newWeightDecay, gradientFactor);
    }

    /**
     * Returns the same with another factor on the gradients and no velocities yet.
     *
     * @param newFactor finite; 1/n makes the mean over n ranks of their sum
     * @throws IllegalArgumentException if it is not finite
     */
    public Sgd gradientFactor(double newFactor) {
        return new Sgd(learningRate, momentum, weightDecay, newFactor);
    }

    @Override
    public void check(KeyInfo key) {
        if (key.type() != DataType.F32 && key.type() != DataType.F64) {
            throw new IllegalArgumentException(
                    "key " + key.key() + " has elements of " + key.type() + ", but SGD updates F32 and F64 only");
        }
    }

    @Override
    public void update(KeyInfo key, MemorySegment pushed, MemorySegment value) {
        check(key);
        // Without momentum the velocity is computed in the gradient's memory.
        MemorySegment velocity = momentum == 0 ? pushed : velocities.computeIfAbsent(key.key(), k -> zeros(key));
        if (key.type() == DataType.F32) {
            floats(key.count(), pushed, value, velocity);
        } else {
            doubles(key.count(), pushed, value, velocity);
        }
    }

    private static MemorySegment zeros(KeyInfo key) {
        return Arena.ofAuto().allocate(key.bytes(), Long.BYTES);
    }

    private void floats(long count, MemorySegment gradient, MemorySegment value, MemorySegment velocity) {
        float rate = (float) learningRate;
        float carried = (float) momentum;
        float decay = (float) weightDecay;
        float factor = (float) gradientFactor;
        for (long at = 0; at < count * Float.BYTES; at += Float.BYTES) {
            float weight = value.get(JAVA_FLOAT_UNALIGNED, at);
            float slope = factor * gradient.get(JAVA_FLOAT_UNALIGNED, at) + decay * weight;
            float before = carried == 0 ? 0 : carried * velocity.get(JAVA_FLOAT_UNALIGNED, at);
            float now = before - rate * slope;
            velocity.set(JAVA_FLOAT_UNALIGNED, at, now);
            value.set(JAVA_FLOAT_UNALIGNED, at, weight + now);
        }
    }

    private void doubles(long count, MemorySegment gradient, MemorySegment value, MemorySegment velocity) {
        for (long at = 0; at < count * Double.BYTES; at += Double.BYTES) {
            double weight = value.get(JAVA_DOUBLE_UNALIGNED, at);
            double slope = gradientFactor * gradient.get(JAVA_DOUBLE_UNALIGNED, at) + weightDecay * weight;
            double before = momentum == 0 ? 0 : momentum * velocity.get(JAVA_DOUBLE_UNALIGNED, at);
            double now = before - learningRate * slope;
            velocity.set(JAVA_DOUBLE_UNALIGNED, at, now);
            value.set(JAVA_DOUBLE_UNALIGNED, at, weight + now);
        }
    }
}
