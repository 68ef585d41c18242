/** Gradients of models, and benchmarks that push and pull them. */
@NullMarked
package dev.banyan.cli.bench.workload;

import org.jspecify.annotations.NullMarked;
