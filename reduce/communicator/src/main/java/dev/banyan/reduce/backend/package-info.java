/** What carries schedules out. */
@NullMarked
package dev.banyan.reduce.backend;

import org.jspecify.annotations.NullMarked;
