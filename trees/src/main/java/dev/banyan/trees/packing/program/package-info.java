/** Packings for allreduce through forwarders and over uneven links, by a linear program. */
@NullMarked
package dev.banyan.trees.packing.program;

import org.jspecify.annotations.NullMarked;
