/** Files in the DLC format, read. */
@NullMarked
package dev.banyan.dlc.internal.read;

import org.jspecify.annotations.NullMarked;
