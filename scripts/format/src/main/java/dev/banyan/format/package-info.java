/** The format of the project's sources. */
@NullMarked
package dev.banyan.format;

import org.jspecify.annotations.NullMarked;
