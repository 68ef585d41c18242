/** Computes what a page shows. */
@NullMarked
package dev.banyan.page.study;

import org.jspecify.annotations.NullMarked;
