/** {@code banyan bench}: measures collectives, checks every element, and says what to expect. */
@NullMarked
package dev.banyan.cli.bench;

import org.jspecify.annotations.NullMarked;
