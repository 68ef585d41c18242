/** What the driver and timed copies say of the links of this machine. */
@NullMarked
package dev.banyan.cli.probe;

import org.jspecify.annotations.NullMarked;
