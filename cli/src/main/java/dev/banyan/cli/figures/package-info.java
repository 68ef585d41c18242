/** The figures of the original design of topology-aware trees, made again by simulation. */
@NullMarked
package dev.banyan.cli.figures;

import org.jspecify.annotations.NullMarked;
