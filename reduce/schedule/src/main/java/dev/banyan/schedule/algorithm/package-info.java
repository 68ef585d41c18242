/** Collective algorithms: pure functions from a request to a schedule. */
@NullMarked
package dev.banyan.reduce.algorithm;

import org.jspecify.annotations.NullMarked;
