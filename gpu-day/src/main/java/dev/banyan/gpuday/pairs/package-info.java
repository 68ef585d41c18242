/** Pairs of a machine's GPUs: what CUDA says of them, timed copies between them, and the faults that follow. */
@NullMarked
package dev.banyan.gpuday.pairs;

import org.jspecify.annotations.NullMarked;
