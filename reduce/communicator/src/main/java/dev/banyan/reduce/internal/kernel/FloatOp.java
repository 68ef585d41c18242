package dev.banyan.reduce.internal.kernel;

/** An operation on two floats. */
@FunctionalInterface
public interface FloatOp {
    float apply(float a, float b);
}
