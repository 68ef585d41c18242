/** The right results of collectives, computed in 64 bits from seeded inputs, and comparison with what is there. */
@NullMarked
package dev.banyan.study.reference;

import org.jspecify.annotations.NullMarked;
