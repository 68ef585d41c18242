@NullMarked
package dev.banyan.page.drawing;

import org.jspecify.annotations.NullMarked;
