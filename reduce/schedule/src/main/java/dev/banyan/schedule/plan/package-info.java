/** The choice of an algorithm for each call, and the settings that it depends on. */
@NullMarked
package dev.banyan.schedule.plan;

import org.jspecify.annotations.NullMarked;
