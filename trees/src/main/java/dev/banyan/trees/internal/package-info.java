/** The linear program of packings: columns that share the capacity of rows, solved exactly. */
@NullMarked
package dev.banyan.trees.internal;

import org.jspecify.annotations.NullMarked;
