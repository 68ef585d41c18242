/** Tables of {@code nvidia-smi topo -m}, read and written. */
@NullMarked
package dev.banyan.topology.internal.nvidia;

import org.jspecify.annotations.NullMarked;
