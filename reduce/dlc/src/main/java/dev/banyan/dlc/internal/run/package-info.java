/** A run, as the traces of its nodes record it. */
@NullMarked
package dev.banyan.dlc.internal.run;

import org.jspecify.annotations.NullMarked;
