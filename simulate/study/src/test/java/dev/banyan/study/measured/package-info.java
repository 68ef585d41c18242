@NullMarked
package dev.banyan.simulate.measured;

import org.jspecify.annotations.NullMarked;
