/** Loops that combine the elements of two or more buffers: plain ones, and ones of vectors. */
@NullMarked
package dev.banyan.reduce.internal.kernel;

import org.jspecify.annotations.NullMarked;
