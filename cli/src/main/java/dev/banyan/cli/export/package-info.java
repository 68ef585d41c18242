/** {@code banyan export}: plans as files that other runtimes execute. */
@NullMarked
package dev.banyan.cli.export;

import org.jspecify.annotations.NullMarked;
