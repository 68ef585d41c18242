/** {@code banyan tune}: finds the best algorithm, chunk length and number of trees for each size. */
@NullMarked
package dev.banyan.cli.tune;

import org.jspecify.annotations.NullMarked;
