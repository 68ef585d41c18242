/** Trees and forests as text. */
@NullMarked
package dev.banyan.trees.render;

import org.jspecify.annotations.NullMarked;
