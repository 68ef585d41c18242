/** How the commands answer: JSON, progress. */
@NullMarked
package dev.banyan.cli.output;

import org.jspecify.annotations.NullMarked;
