/** Predicted times of NCCL's rings, for comparisons. */
@NullMarked
package dev.banyan.simulate.internal.nccl;

import org.jspecify.annotations.NullMarked;
