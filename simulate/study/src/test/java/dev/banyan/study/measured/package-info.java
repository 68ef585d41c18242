@NullMarked
package dev.banyan.study.measured;

import org.jspecify.annotations.NullMarked;
