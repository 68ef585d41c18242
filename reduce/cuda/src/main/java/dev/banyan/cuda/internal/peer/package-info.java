/** Access of devices to each other: what the driver grants, trials of what works, and measurements. */
@NullMarked
package dev.banyan.cuda.internal.peer;

import org.jspecify.annotations.NullMarked;
