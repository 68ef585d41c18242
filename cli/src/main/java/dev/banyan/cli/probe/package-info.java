/** The links of this machine by its driver and by timed copies. */
@NullMarked
package dev.banyan.cli.probe;

import org.jspecify.annotations.NullMarked;
