/** The links between the devices of a group as directed capacities, and flows over them. */
@NullMarked
package dev.banyan.trees.network;

import org.jspecify.annotations.NullMarked;
