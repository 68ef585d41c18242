/** Records that a store's calls become. */
@NullMarked
package dev.banyan.dlc.internal.record;

import org.jspecify.annotations.NullMarked;
