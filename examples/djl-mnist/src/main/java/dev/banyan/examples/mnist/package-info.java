/** A DJL training program that does not know of Banyan. */
@NullMarked
package dev.banyan.examples.mnist;

import org.jspecify.annotations.NullMarked;
