/** The shares of a run's time. */
@NullMarked
package dev.banyan.dlc.internal.statistics;

import org.jspecify.annotations.NullMarked;
