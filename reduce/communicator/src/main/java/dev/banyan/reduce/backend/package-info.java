/** The interface of backends, which run schedules. */
@NullMarked
package dev.banyan.reduce.backend;

import org.jspecify.annotations.NullMarked;
