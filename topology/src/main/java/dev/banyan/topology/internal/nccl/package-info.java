/** NCCL's topology XML, read and written. */
@NullMarked
package dev.banyan.topology.internal.nccl;

import org.jspecify.annotations.NullMarked;
