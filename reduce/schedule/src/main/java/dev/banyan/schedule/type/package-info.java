/** Element types, operations and collectives. */
@NullMarked
package dev.banyan.schedule.type;

import org.jspecify.annotations.NullMarked;
