package dev.banyan.study.training;

/**
 * The gradient of one key, which all devices sum up.
 *
 * @param elements number of elements of 4 bytes, at least 1
 * @param readyUs when the last device has it, in us, at least 0
 */
public record Gradient(long elements, double readyUs) {
    /** Bytes of an element: gradients are of type float. */
    public static final int ELEMENT_BYTES = 4;

    public Gradient {
        if (elements < 1 || !(readyUs >= 0) || Double.isInfinite(readyUs)) {
            throw new IllegalArgumentException("a gradient of " + elements + " elements that is ready at " + readyUs
                    + " us; it needs at least 1 element and a time from 0 on");
        }
    }

    /** Size in bytes. */
    public long bytes() {
        return Math.multiplyExact(elements, ELEMENT_BYTES);
    }
}
