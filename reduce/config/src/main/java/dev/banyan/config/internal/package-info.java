/** Bounded reading of files, for other modules of Banyan only. */
@NullMarked
package dev.banyan.config.internal;

import org.jspecify.annotations.NullMarked;
