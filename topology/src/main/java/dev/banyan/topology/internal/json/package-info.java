/** Banyan's own JSON, read and written. */
@NullMarked
package dev.banyan.topology.internal.json;

import org.jspecify.annotations.NullMarked;
