/** Packings, trees that share the links of a machine so that together they reach the bound, and what they cost. */
@NullMarked
package dev.banyan.trees.packing;

import org.jspecify.annotations.NullMarked;
