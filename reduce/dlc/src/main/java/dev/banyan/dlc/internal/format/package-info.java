/** The records of the DLC format. */
@NullMarked
package dev.banyan.dlc.internal.format;

import org.jspecify.annotations.NullMarked;
