/** Optimizers as data, which a backend runs where the values are. */
@NullMarked
package dev.banyan.reduce.optimizer;

import org.jspecify.annotations.NullMarked;
