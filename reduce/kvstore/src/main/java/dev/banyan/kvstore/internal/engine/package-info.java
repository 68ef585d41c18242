/** A dependency engine, which runs operations when the operations before them on the same variables allow it. */
@NullMarked
package dev.banyan.kvstore.internal.engine;

import org.jspecify.annotations.NullMarked;
