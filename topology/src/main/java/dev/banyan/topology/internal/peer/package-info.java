/** Peer access between the devices of a description. */
@NullMarked
package dev.banyan.topology.internal.peer;

import org.jspecify.annotations.NullMarked;
