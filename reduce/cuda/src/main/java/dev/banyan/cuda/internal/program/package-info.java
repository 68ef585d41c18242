/** Schedules as one kernel on each device, and updates of parameters. */
@NullMarked
package dev.banyan.cuda.internal.program;

import org.jspecify.annotations.NullMarked;
