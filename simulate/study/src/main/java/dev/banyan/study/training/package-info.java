/** The cost of collectives in a training step: keys that become ready one after another, and the wait for them. */
@NullMarked
package dev.banyan.study.training;

import org.jspecify.annotations.NullMarked;
