/** The API: a communicator over the devices of one machine, and its configuration. */
@NullMarked
package dev.banyan.reduce;

import org.jspecify.annotations.NullMarked;
