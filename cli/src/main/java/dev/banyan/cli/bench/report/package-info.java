/** The tables, summaries and pictures of {@code banyan bench}. */
@NullMarked
package dev.banyan.cli.bench.report;

import org.jspecify.annotations.NullMarked;
