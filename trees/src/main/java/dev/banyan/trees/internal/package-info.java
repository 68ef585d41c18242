/** The linear program of packings: columns that share the capacity of wires, solved exactly. */
@NullMarked
package dev.banyan.trees.internal;

import org.jspecify.annotations.NullMarked;
