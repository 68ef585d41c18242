/** Trees and forests as text. */
@NullMarked
package dev.banyan.trees.internal.render;

import org.jspecify.annotations.NullMarked;
