/** Schedules priced in microseconds on the wires of a machine. */
@NullMarked
package dev.banyan.simulate;

import org.jspecify.annotations.NullMarked;
