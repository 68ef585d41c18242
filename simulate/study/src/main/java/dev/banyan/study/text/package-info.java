/** Figures, sizes and names as text. */
@NullMarked
package dev.banyan.study.text;

import org.jspecify.annotations.NullMarked;
