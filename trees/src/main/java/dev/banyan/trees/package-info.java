/** Rooted trees over the devices of a machine, and what builds them. */
@NullMarked
package dev.banyan.trees;

import org.jspecify.annotations.NullMarked;
