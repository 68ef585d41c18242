/** Ways to carry an allreduce over a machine's wires, side by side. */
@NullMarked
package dev.banyan.cli.compare;

import org.jspecify.annotations.NullMarked;
