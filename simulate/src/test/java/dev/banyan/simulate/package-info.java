@NullMarked
package dev.banyan.simulate;

import org.jspecify.annotations.NullMarked;
