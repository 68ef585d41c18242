/** Speeds of links that a description leaves open. */
@NullMarked
package dev.banyan.topology.internal.speed;

import org.jspecify.annotations.NullMarked;
