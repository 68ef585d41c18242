/** What is reduced, and how: element types, operations, collectives. */
@NullMarked
package dev.banyan.schedule.type;

import org.jspecify.annotations.NullMarked;
