/** Rings over the devices of a machine. */
@NullMarked
package dev.banyan.trees.ring;

import org.jspecify.annotations.NullMarked;
