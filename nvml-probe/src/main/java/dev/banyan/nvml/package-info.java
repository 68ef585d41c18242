/**
 * Finds out about this machine by NVIDIA's management library, through {@code java.lang.foreign}.
 *
 * <p>Symbols, constants and layouts are those of {@code nvml.h} of NVML 12.2.140 (CUDA 12.2); all of them are part of
 * that library's stable interface. Codes 28 to 30 are those of NVML 12.4 and later.
 */
@NullMarked
package dev.banyan.nvml;

import org.jspecify.annotations.NullMarked;
