/** What was measured: copies between devices, sweeps of collectives; and what follows from it for the simulator. */
@NullMarked
package dev.banyan.study.measured;

import org.jspecify.annotations.NullMarked;
