/** The sharing of links among copies that run at once, and the end of each copy. */
@NullMarked
package dev.banyan.simulate.internal.rate;

import org.jspecify.annotations.NullMarked;
