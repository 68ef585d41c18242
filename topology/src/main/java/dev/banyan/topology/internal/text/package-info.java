/** Pieces of text that all formats share, and the interface that they implement. */
@NullMarked
package dev.banyan.topology.internal.text;

import org.jspecify.annotations.NullMarked;
