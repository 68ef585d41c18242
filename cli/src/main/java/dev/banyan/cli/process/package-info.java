/** Other processes of this command. */
@NullMarked
package dev.banyan.cli.process;

import org.jspecify.annotations.NullMarked;
