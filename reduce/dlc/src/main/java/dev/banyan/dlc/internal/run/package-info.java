/** A run, as the traces of its nodes tell it. */
@NullMarked
package dev.banyan.dlc.internal.run;

import org.jspecify.annotations.NullMarked;
