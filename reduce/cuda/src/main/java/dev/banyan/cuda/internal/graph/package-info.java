/**
 * Schedules as CUDA graphs. A run is one launch of a graph that was built node by node, so that nothing waits but for
 * what it needs: memcpy nodes (one-dimensional; device to device by unified addresses, to and from pinned host memory
 * where there is no peer access) and kernel nodes.
 */
@NullMarked
package dev.banyan.cuda.internal.graph;

import org.jspecify.annotations.NullMarked;
