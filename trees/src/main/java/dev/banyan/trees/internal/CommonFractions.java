package dev.banyan.trees.internal;

import java.math.BigInteger;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** Fractions with one denominator. Immutable. */
public final class CommonFractions {
    private final BigInteger[] numerators;
    private final BigInteger denominator;

    private CommonFractions(BigInteger[] numerators, BigInteger denominator) {
        this.numerators = numerators;
        this.denominator = denominator;
    }

    /** Returns a numerator. */
    public BigInteger numerator(int index) {
        return numerators[index];
    }

    /** Returns the common denominator, above 0. */
    public BigInteger denominator() {
        return denominator;
    }

    /** Returns whether none is below 0. */
    boolean nonNegative() {
        return Arrays.stream(numerators).allMatch(numerator -> numerator.signum() >= 0);
    }

    /**
     * The fractions that have these values by a modulus, numerators and common denominator at most the root
     * of half of it; by the extended Euclidean algorithm, stopped half-way (P. S. Wang, "A p-adic algorithm
     * for univariate partial fractions", SYMSAC 1981).
     *
     * @return or null if there are none
     */
    static @Nullable CommonFractions reconstructed(BigInteger[] values, BigInteger modulus) {
        BigInteger limit = modulus.shiftRight(1).sqrt();
        BigInteger denominator = BigInteger.ONE;
        for (BigInteger value : values) {
            if (centred(value.multiply(denominator), modulus).abs().compareTo(limit) > 0) {
                denominator = denominator.multiply(
                        denominatorOf(value.multiply(denominator).mod(modulus), modulus, limit));
                if (denominator.compareTo(limit) > 0) {
                    return null;
                }
            }
        }
        BigInteger[] numerators = new BigInteger[values.length];
        for (int i = 0; i < values.length; i++) {
            numerators[i] = centred(values[i].multiply(denominator), modulus);
            if (numerators[i].abs().compareTo(limit) > 0) {
                return null;
            }
        }
        return new CommonFractions(numerators, denominator);
    }

    private static BigInteger centred(BigInteger value, BigInteger modulus) {
        BigInteger rest = value.mod(modulus);
        return rest.shiftLeft(1).compareTo(modulus) > 0 ? rest.subtract(modulus) : rest;
    }

    private static BigInteger denominatorOf(BigInteger value, BigInteger modulus, BigInteger limit) {
        BigInteger before = modulus;
        BigInteger rest = value;
        BigInteger factorBefore = BigInteger.ZERO;
        BigInteger factor = BigInteger.ONE;
        while (rest.compareTo(limit) > 0) {
            BigInteger[] division = before.divideAndRemainder(rest);
            before = rest;
            rest = division[1];
            BigInteger next = factorBefore.subtract(division[0].multiply(factor));
            factorBefore = factor;
            factor = next;
        }
        return factor.abs();
    }
}
