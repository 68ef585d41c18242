/**
 * The CUDA backend: schedules on GPUs, through the driver API alone. Programs get it from the communicator by the name
 * {@code cuda}; they use this package for device memory of their own.
 */
@NullMarked
package dev.banyan.cuda;

import org.jspecify.annotations.NullMarked;
