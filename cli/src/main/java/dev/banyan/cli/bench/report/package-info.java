/** What {@code banyan bench} prints and draws. */
@NullMarked
package dev.banyan.cli.bench.report;

import org.jspecify.annotations.NullMarked;
