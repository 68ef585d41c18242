@NullMarked
package dev.banyan.nvml;

import org.jspecify.annotations.NullMarked;
