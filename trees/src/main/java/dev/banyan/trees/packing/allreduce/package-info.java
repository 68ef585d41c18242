/** Packings for allreduce: spanning trees on direct links, stars in one switch, a linear program for the rest. */
@NullMarked
package dev.banyan.trees.packing.allreduce;

import org.jspecify.annotations.NullMarked;
