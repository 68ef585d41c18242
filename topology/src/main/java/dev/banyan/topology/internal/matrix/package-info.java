/** Plain n x n matrices, read and written. */
@NullMarked
package dev.banyan.topology.internal.matrix;

import org.jspecify.annotations.NullMarked;
