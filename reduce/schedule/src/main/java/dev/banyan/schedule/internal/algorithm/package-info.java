/** Collective algorithms: pure functions from a request to a schedule. */
@NullMarked
package dev.banyan.schedule.internal.algorithm;

import org.jspecify.annotations.NullMarked;
