/**
 * Measurements of GPUs by CUDA's driver API alone: launches, flags, copies and reductions. They answer what the
 * simulator and the backend's design assume. Each runs in a process of its own, as a call of the driver that hangs ends
 * with its process only.
 */
@NullMarked
package dev.banyan.gpuday;

import org.jspecify.annotations.NullMarked;
