/** The output of commands: JSON, tables, progress. */
@NullMarked
package dev.banyan.cli.output;

import org.jspecify.annotations.NullMarked;
