package dev.banyan.schedule;

/**
 * The order in which a range of elements is combined. All ranks that receive the result receive it by this one
 * expression, hence the same bits.
 *
 * @param from first element of the inputs
 * @param to one past the last element
 * @param expression ranks whose element is combined, e.g. {@code 0 + 1 + (2 + 3)}; a parenthesis is a
 *     partial result, + stands for the operation
 */
public record Summation(long from, long to, String expression) {}
