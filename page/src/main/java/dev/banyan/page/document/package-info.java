/** Documents whose figures are computed: Markdown with tables, and pictures. */
@NullMarked
package dev.banyan.page.document;

import org.jspecify.annotations.NullMarked;
