/** An emulated CUDA driver for tests. */
@NullMarked
package dev.banyan.cuda.emulator;

import org.jspecify.annotations.NullMarked;
