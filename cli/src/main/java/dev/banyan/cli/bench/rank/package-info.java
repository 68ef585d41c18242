/** The ranks of a benchmark: devices of the host or of CUDA, and their memory. */
@NullMarked
package dev.banyan.cli.bench.rank;

import org.jspecify.annotations.NullMarked;
