/** A store of parameters over a communicator: push gradients, pull weights, while computation goes on. */
@NullMarked
package dev.banyan.kvstore;

import org.jspecify.annotations.NullMarked;
