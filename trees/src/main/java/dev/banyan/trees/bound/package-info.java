/** Upper bounds of collectives over a network, each with its certificate. */
@NullMarked
package dev.banyan.trees.bound;

import org.jspecify.annotations.NullMarked;
