/** The search for the best settings of a machine. */
@NullMarked
package dev.banyan.study.tune;

import org.jspecify.annotations.NullMarked;
