/** Collective algorithms: pure functions from a request to a schedule. */
@NullMarked
package dev.banyan.schedule.algorithm;

import org.jspecify.annotations.NullMarked;
