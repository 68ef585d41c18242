/** Studies by simulation. */
@NullMarked
package dev.banyan.cli.study;

import org.jspecify.annotations.NullMarked;
