/** Devices, hubs and links of one machine. */
@NullMarked
package dev.banyan.topology;

import org.jspecify.annotations.NullMarked;
