/** Collectives whose kernels load from and store to memory of all ranks, between barriers. */
@NullMarked
package dev.banyan.cuda.internal.symmetric;

import org.jspecify.annotations.NullMarked;
