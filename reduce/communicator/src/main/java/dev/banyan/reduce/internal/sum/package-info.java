/** Sums of floating-point numbers whose bits depend on the contributions alone. */
@NullMarked
package dev.banyan.reduce.internal.sum;

import org.jspecify.annotations.NullMarked;
