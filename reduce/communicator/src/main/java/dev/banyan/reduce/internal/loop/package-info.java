/** Loops of vectors that are generated for an expression, and their warm-up. */
@NullMarked
package dev.banyan.reduce.internal.loop;

import org.jspecify.annotations.NullMarked;
