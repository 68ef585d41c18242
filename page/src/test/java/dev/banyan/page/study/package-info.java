@NullMarked
package dev.banyan.page.study;

import org.jspecify.annotations.NullMarked;
