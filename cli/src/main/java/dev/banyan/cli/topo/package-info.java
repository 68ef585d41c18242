/** {@code banyan topo}: what a description says about a machine. */
@NullMarked
package dev.banyan.cli.topo;

import org.jspecify.annotations.NullMarked;
