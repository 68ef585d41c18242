/** {@code banyan trees}: trees of a machine, in text, JSON and SVG. */
@NullMarked
package dev.banyan.cli.trees;

import org.jspecify.annotations.NullMarked;
