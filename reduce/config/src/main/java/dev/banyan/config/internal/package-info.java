/** Bounded reading of files, bounded caches and messages, for other modules of Banyan only. */
@NullMarked
package dev.banyan.config.internal;

import org.jspecify.annotations.NullMarked;
