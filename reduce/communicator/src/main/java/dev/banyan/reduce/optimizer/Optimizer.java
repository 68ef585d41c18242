package dev.banyan.reduce.optimizer;

import dev.banyan.schedule.type.DataType;

/**
 * A rule by which a gradient changes a value, as data: a backend runs it in the memory of the device that holds both.
 * {@link #sgd}, {@link #adam} and {@link #adamW} make optimizers, and methods like {@code momentum} return a changed
 * copy.
 *
 * <p><b>Arithmetic.</b> All backends give the same bits. They compute each element by itself, with the operations and
 * in the order that {@link Sgd} and {@link Adam} list, each rounded to nearest, ties to even, and none of them fused.
 * They compute in F64 for F64, else in F32, to which the {@link #coefficients} are rounded. The payload of a NaN is
 * undefined.
 *
 * <p><b>Mixed precision.</b> For F16 and BF16 the state holds a copy of the value in F32, the master value, which the
 * first update takes from the value. Updates change the master value; the value is the master value, rounded.
 *
 * <p>Adam is of D. P. Kingma and J. Ba, "Adam: a method for stochastic optimization", 2014, <a
 * href="https://arxiv.org/abs/1412.6980">arXiv:1412.6980</a>; AdamW of I. Loshchilov and F. Hutter, "Decoupled weight
 * decay regularization", 2017, <a href="https://arxiv.org/abs/1711.05101">arXiv:1711.05101</a>; the momentum of B. T.
 * Polyak, "Some methods of speeding up the convergence of iteration methods", 1964, <a
 * href="https://doi.org/10.1016/0041-5553(64)90137-5">doi:10.1016/0041-5553(64)90137-5</a>.
 */
public sealed interface Optimizer {
    /**
     * Returns stochastic gradient descent without momentum and weight decay, and with gradients as they are.
     *
     * @param learningRate finite, above 0
     * @throws IllegalArgumentException if it is out of range
     */
    static Sgd sgd(double learningRate) {
        return new Sgd(learningRate, 0, 0, 1);
    }

    /**
     * Returns Adam with beta1 0.9, beta2 0.999, epsilon 1e-8, no weight decay, and gradients as they are.
     *
     * @param learningRate finite, above 0
     * @throws IllegalArgumentException if it is out of range
     */
    static Adam adam(double learningRate) {
        return new Adam(learningRate, 0.9, 0.999, 1e-8, 0, false, 1);
    }

    /**
     * Returns AdamW, whose weight decay does not pass through the moments, with beta1 0.9, beta2 0.999, epsilon 1e-8,
     * weight decay 0.01, and gradients as they are.
     *
     * @param learningRate finite, above 0
     * @throws IllegalArgumentException if it is out of range
     */
    static Adam adamW(double learningRate) {
        return new Adam(learningRate, 0.9, 0.999, 1e-8, 0.01, true, 1);
    }

    /** Returns the number of moments that the state holds for each element of a value. */
    int moments();

    /**
     * Returns the numbers that an update computes with, in the order in which {@link Sgd} and {@link Adam} list them.
     *
     * @param step the number of the update of a value, from 1
     */
    double[] coefficients(long step);

    /**
     * Returns the length of a value's state in bytes: the F32 master value of F16 and BF16, then each moment, all of
     * as many elements as the value. New state is zero.
     *
     * @param type the type of the value
     * @param count its length in elements
     */
    default long stateBytes(DataType type, long count) {
        int arrays = moments() + (type.bytes() == Short.BYTES ? 1 : 0);
        return arrays * count * (type == DataType.F64 ? Double.BYTES : Float.BYTES);
    }

    private static void require(boolean holds, String what, double value, String allowed) {
        if (!holds) {
            throw new IllegalArgumentException("a " + what + " of " + value + "; it must be " + allowed);
        }
    }

    private static void requireCommon(double learningRate, double weightDecay, double gradientFactor) {
        require(learningRate > 0 && Double.isFinite(learningRate), "learning rate", learningRate, "above 0");
        require(weightDecay >= 0 && Double.isFinite(weightDecay), "weight decay", weightDecay, "at least 0");
        require(Double.isFinite(gradientFactor), "factor on the gradient", gradientFactor, "finite");
    }

    /**
     * Stochastic gradient descent, as MXNet's {@code sgd} does it. With learning rate l, momentum m, weight decay d and
     * factor f, an element w with gradient g becomes
     *
     * <pre>
     * slope = (f * g) + (d * w)
     * v     = (m * v) - (l * slope)      without momentum: v = 0 - (l * slope)
     * w     = w + v
     * </pre>
     *
     * <p>With momentum, v is the only moment. The coefficients are f, d, l, m.
     *
     * @param learningRate finite, above 0
     * @param momentum at least 0 and below 1
     * @param weightDecay finite, at least 0
     * @param gradientFactor finite; 1/n makes the mean over n ranks of their sum
     */
    record Sgd(double learningRate, double momentum, double weightDecay, double gradientFactor) implements Optimizer {
        public Sgd {
            requireCommon(learningRate, weightDecay, gradientFactor);
            require(momentum >= 0 && momentum < 1, "momentum", momentum, "at least 0 and below 1");
        }

        /** Returns the same with another momentum. */
        public Sgd momentum(double newMomentum) {
            return new Sgd(learningRate, newMomentum, weightDecay, gradientFactor);
        }

        /** Returns the same with another weight decay. */
        public Sgd weightDecay(double newWeightDecay) {
            return new Sgd(learningRate, momentum, newWeightDecay, gradientFactor);
        }

        /** Returns the same with another factor on the gradients. */
        public Sgd gradientFactor(double newFactor) {
            return new Sgd(learningRate, momentum, weightDecay, newFactor);
        }

        @Override
        public int moments() {
            return momentum == 0 ? 0 : 1;
        }

        @Override
        public double[] coefficients(long step) {
            return new double[] {gradientFactor, weightDecay, learningRate, momentum};
        }
    }

    /**
     * Adam and AdamW, as PyTorch does them. With learning rate l, weight decay d and factor f, an element w with
     * gradient g becomes at step t
     *
     * <pre>
     * a = f * g                          Adam: a = (f * g) + (d * w)
     * m = (beta1 * m) + ((1 - beta1) * a)
     * v = (beta2 * v) + ((1 - beta2) * (a * a))
     * b = (sqrt(v) / root) + epsilon     root = sqrt(1 - beta2^t)
     * w = (k * w) - (s * (m / b))        Adam: w = w - (s * (m / b))
     * </pre>
     *
     * <p>with s = l / (1 - beta1^t) and k = 1 - l * d. The moments are m and v. The coefficients, computed in F64, are
     * f, d (Adam) or k (AdamW), beta1, 1 - beta1, beta2, 1 - beta2, root, epsilon, s.
     *
     * @param learningRate finite, above 0
     * @param beta1 at least 0 and below 1
     * @param beta2 at least 0 and below 1
     * @param epsilon finite, at least 0
     * @param weightDecay finite, at least 0
     * @param decoupled whether the weight decay applies to the value itself (AdamW) or to the gradient (Adam)
     * @param gradientFactor finite; 1/n makes the mean over n ranks of their sum
     */
    record Adam(
            double learningRate,
            double beta1,
            double beta2,
            double epsilon,
            double weightDecay,
            boolean decoupled,
            double gradientFactor)
            implements Optimizer {
        public Adam {
            requireCommon(learningRate, weightDecay, gradientFactor);
            require(beta1 >= 0 && beta1 < 1, "beta1", beta1, "at least 0 and below 1");
            require(beta2 >= 0 && beta2 < 1, "beta2", beta2, "at least 0 and below 1");
            require(epsilon >= 0 && Double.isFinite(epsilon), "epsilon", epsilon, "at least 0");
        }

        /** Returns the same with other decay rates of the two moments. */
        public Adam betas(double newBeta1, double newBeta2) {
            return new Adam(learningRate, newBeta1, newBeta2, epsilon, weightDecay, decoupled, gradientFactor);
        }

        /** Returns the same with another epsilon. */
        public Adam epsilon(double newEpsilon) {
            return new Adam(learningRate, beta1, beta2, newEpsilon, weightDecay, decoupled, gradientFactor);
        }

        /** Returns the same with another weight decay. */
        public Adam weightDecay(double newWeightDecay) {
            return new Adam(learningRate, beta1, beta2, epsilon, newWeightDecay, decoupled, gradientFactor);
        }

        /** Returns the same with another factor on the gradients. */
        public Adam gradientFactor(double newFactor) {
            return new Adam(learningRate, beta1, beta2, epsilon, weightDecay, decoupled, newFactor);
        }

        @Override
        public int moments() {
            return 2;
        }

        @Override
        public double[] coefficients(long step) {
            return new double[] {
                gradientFactor,
                decoupled ? 1 - learningRate * weightDecay : weightDecay,
                beta1,
                1 - beta1,
                beta2,
                1 - beta2,
                Math.sqrt(1 - StrictMath.pow(beta2, (double) step)),
                epsilon,
                learningRate / (1 - StrictMath.pow(beta1, (double) step))
            };
        }
    }
}
