/** The processes that train together, and the GPUs that they join. */
@NullMarked
package dev.banyan.djl.internal.processes;

import org.jspecify.annotations.NullMarked;
