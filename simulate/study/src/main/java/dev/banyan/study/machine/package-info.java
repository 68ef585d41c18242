/** The chosen devices of a machine, and the limits of what they exchange. */
@NullMarked
package dev.banyan.study.machine;

import org.jspecify.annotations.NullMarked;
