/** Processes of one machine that work on the memory of each other. */
@NullMarked
package dev.banyan.reduce.internal.processes;

import org.jspecify.annotations.NullMarked;
