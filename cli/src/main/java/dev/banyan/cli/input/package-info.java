/** The input of commands: machines, devices, sizes. */
@NullMarked
package dev.banyan.cli.input;

import org.jspecify.annotations.NullMarked;
