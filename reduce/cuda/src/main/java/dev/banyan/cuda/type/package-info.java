/** Types of the CUDA backend that its callers and all of its packages share. */
@NullMarked
package dev.banyan.cuda.type;

import org.jspecify.annotations.NullMarked;
