/** Backends on devices that several processes hold. */
@NullMarked
package dev.banyan.reduce.internal.joining;

import org.jspecify.annotations.NullMarked;
