/** A dependency engine: operations over variables that run when those before them allow it. */
@NullMarked
package dev.banyan.kvstore.engine;

import org.jspecify.annotations.NullMarked;
