/** {@code banyan scaling}: training on many machines, by simulation. */
@NullMarked
package dev.banyan.cli.scaling;

import org.jspecify.annotations.NullMarked;
