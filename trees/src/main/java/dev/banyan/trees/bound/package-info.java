/** What no collective over a network can exceed, each bound with its certificate. */
@NullMarked
package dev.banyan.trees.bound;

import org.jspecify.annotations.NullMarked;
