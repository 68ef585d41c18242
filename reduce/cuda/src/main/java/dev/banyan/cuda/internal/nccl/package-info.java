/** Runs that NCCL launches, in place of a schedule. */
@NullMarked
package dev.banyan.cuda.internal.nccl;

import org.jspecify.annotations.NullMarked;
