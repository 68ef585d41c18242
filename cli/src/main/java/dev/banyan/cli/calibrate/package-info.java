/** The simulator and what was measured: calibrate, validate. */
@NullMarked
package dev.banyan.cli.calibrate;

import org.jspecify.annotations.NullMarked;
