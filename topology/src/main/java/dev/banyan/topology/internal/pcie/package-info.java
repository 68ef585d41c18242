/** Hubs made of the classes PIX to SYS. */
@NullMarked
package dev.banyan.topology.internal.pcie;

import org.jspecify.annotations.NullMarked;
