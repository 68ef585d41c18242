/** Calls of a benchmark: what is called, how long it takes, and whether its result is right. */
@NullMarked
package dev.banyan.cli.bench.call;

import org.jspecify.annotations.NullMarked;
