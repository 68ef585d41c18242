/** Ways to carry an allreduce over a machine's links, side by side. */
@NullMarked
package dev.banyan.cli.compare;

import org.jspecify.annotations.NullMarked;
