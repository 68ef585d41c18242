/** Benchmarks of what the adapter does in each step. */
@NullMarked
package dev.banyan.djl.bench;

import org.jspecify.annotations.NullMarked;
