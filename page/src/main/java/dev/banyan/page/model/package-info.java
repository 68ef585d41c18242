/** The content of a page, as its JSON has it. */
@NullMarked
package dev.banyan.page.model;

import org.jspecify.annotations.NullMarked;
