/** Generators of balanced binary trees, one after another with a link usage penalty. */
@NullMarked
package dev.banyan.trees.balanced;

import org.jspecify.annotations.NullMarked;
