/** Charts as files: curves over sizes, in SVG or PNG. */
@NullMarked
package dev.banyan.cli.plot;

import org.jspecify.annotations.NullMarked;
