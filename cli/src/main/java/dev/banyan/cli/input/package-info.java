/** What the commands are given: machines, devices, sizes. */
@NullMarked
package dev.banyan.cli.input;

import org.jspecify.annotations.NullMarked;
