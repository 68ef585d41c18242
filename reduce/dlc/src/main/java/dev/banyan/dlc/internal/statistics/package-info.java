/** Where the time of a run went. */
@NullMarked
package dev.banyan.dlc.internal.statistics;

import org.jspecify.annotations.NullMarked;
