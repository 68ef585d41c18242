/** Simulations as files in the trace event format. */
@NullMarked
package dev.banyan.simulate.internal.trace;

import org.jspecify.annotations.NullMarked;
