/** {@code banyan trace}: traces of pushes and pulls. */
@NullMarked
package dev.banyan.cli.trace;

import org.jspecify.annotations.NullMarked;
