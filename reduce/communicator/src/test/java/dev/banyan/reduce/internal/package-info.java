@NullMarked
package dev.banyan.reduce.internal;

import org.jspecify.annotations.NullMarked;
