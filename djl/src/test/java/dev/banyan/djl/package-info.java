@NullMarked
package dev.banyan.djl;

import org.jspecify.annotations.NullMarked;
