/** Measurements: copies between devices, sweeps of collectives, and their consequences for the simulator. */
@NullMarked
package dev.banyan.study.measured;

import org.jspecify.annotations.NullMarked;
