/**
 * The CUDA backend: schedules on GPUs, through the driver API alone.
 *
 * <p>A run of a schedule is one launch of a CUDA graph that was built node by node, so that nothing waits
 * but for what it needs: memcpy nodes (one-dimensional; device to device by unified addresses, to and from
 * pinned host memory where there is no peer access) and kernel nodes.
 */
@NullMarked
package dev.banyan.cuda;

import org.jspecify.annotations.NullMarked;
