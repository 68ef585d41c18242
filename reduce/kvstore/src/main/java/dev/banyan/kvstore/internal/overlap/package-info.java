/** Backward passes over a store, and how much of the communication they hide. */
@NullMarked
package dev.banyan.kvstore.internal.overlap;

import org.jspecify.annotations.NullMarked;
