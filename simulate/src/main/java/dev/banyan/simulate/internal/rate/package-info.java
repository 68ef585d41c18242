/** How copies that run at once share links, and when each of them ends. */
@NullMarked
package dev.banyan.simulate.internal.rate;

import org.jspecify.annotations.NullMarked;
