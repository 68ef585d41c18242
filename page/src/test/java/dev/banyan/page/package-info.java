@NullMarked
package dev.banyan.page;

import org.jspecify.annotations.NullMarked;
