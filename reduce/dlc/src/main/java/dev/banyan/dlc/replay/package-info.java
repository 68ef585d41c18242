/** Recorded runs, carried out again by the simulator. */
@NullMarked
package dev.banyan.dlc.replay;

import org.jspecify.annotations.NullMarked;
