package dev.banyan.reduce.host;

/** An operation on two floats. */
@FunctionalInterface
interface FloatOp {
    float apply(float a, float b);
}
