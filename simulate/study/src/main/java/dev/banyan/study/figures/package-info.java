/** The figures of the original design of topology-aware trees, by simulation. */
@NullMarked
package dev.banyan.study.figures;

import org.jspecify.annotations.NullMarked;
