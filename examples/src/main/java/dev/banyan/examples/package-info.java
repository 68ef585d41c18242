/** Small complete programs that use Banyan. */
@NullMarked
package dev.banyan.examples;

import org.jspecify.annotations.NullMarked;
