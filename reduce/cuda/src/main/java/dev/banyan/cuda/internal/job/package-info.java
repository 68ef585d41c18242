/** Backends whose ranks several processes hold: their devices, and the memory that they open to each other. */
@NullMarked
package dev.banyan.cuda.internal.job;

import org.jspecify.annotations.NullMarked;
