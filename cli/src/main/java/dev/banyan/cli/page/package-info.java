/** A page about a machine. */
@NullMarked
package dev.banyan.cli.page;

import org.jspecify.annotations.NullMarked;
