/** Backends whose ranks several processes hold: their devices, the memory that they open to each other, and how they
 * end. */
@NullMarked
package dev.banyan.cuda.internal.job;

import org.jspecify.annotations.NullMarked;
