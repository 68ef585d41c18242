/** Schedules priced in microseconds on the links of a machine. */
@NullMarked
package dev.banyan.simulate;

import org.jspecify.annotations.NullMarked;
