/** Recorded runs, carried out again by the simulator. */
@NullMarked
package dev.banyan.simulate.replay;

import org.jspecify.annotations.NullMarked;
