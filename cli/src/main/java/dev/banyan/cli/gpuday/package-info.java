/** {@code banyan gpu-day}: everything that can only be measured where there is a GPU, in one folder. */
@NullMarked
package dev.banyan.cli.gpuday;

import org.jspecify.annotations.NullMarked;
