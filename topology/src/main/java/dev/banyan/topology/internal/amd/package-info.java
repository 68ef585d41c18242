/** Tables of {@code rocm-smi --showtopo} and {@code amd-smi topology}. */
@NullMarked
package dev.banyan.topology.internal.amd;

import org.jspecify.annotations.NullMarked;
