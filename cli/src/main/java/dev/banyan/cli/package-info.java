/** The {@code banyan} command. */
@NullMarked
package dev.banyan.cli;

import org.jspecify.annotations.NullMarked;
