/**
 * Memory of devices: the device of each rank, the memory that a backend allocates, copies to and from the host, and the
 * buffers of callers.
 */
@NullMarked
package dev.banyan.cuda.internal.memory;

import org.jspecify.annotations.NullMarked;
