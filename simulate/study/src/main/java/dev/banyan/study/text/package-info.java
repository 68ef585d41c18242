/** Figures, sizes and names as text; tables and documents in plain text, Markdown and CSV. */
@NullMarked
package dev.banyan.study.text;

import org.jspecify.annotations.NullMarked;
