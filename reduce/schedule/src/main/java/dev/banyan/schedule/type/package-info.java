/** What is reduced, and how: element types, operations, collectives. */
@NullMarked
package dev.banyan.reduce.type;

import org.jspecify.annotations.NullMarked;
