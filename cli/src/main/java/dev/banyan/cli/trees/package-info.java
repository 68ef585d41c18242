/** {@code banyan trees}: trees of a machine, in text, JSON, DOT and as files of MSCCL. */
@NullMarked
package dev.banyan.cli.trees;

import org.jspecify.annotations.NullMarked;
