/** Recorded runs, carried out again on the links of a simulated machine. */
@NullMarked
package dev.banyan.dlc.internal.replay;

import org.jspecify.annotations.NullMarked;
