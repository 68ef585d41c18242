/** Line charts and packings, drawn as SVG. */
@NullMarked
package dev.banyan.page.chart;

import org.jspecify.annotations.NullMarked;
