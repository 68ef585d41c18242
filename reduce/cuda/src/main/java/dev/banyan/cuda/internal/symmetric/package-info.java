/** Collectives whose kernels load from and store to the buffers of all ranks, between two barriers. */
@NullMarked
package dev.banyan.cuda.internal.symmetric;

import org.jspecify.annotations.NullMarked;
