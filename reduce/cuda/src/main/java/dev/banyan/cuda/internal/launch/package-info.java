/** The one order of all runs of a backend, and the watch over their ends. */
@NullMarked
package dev.banyan.cuda.internal.launch;

import org.jspecify.annotations.NullMarked;
