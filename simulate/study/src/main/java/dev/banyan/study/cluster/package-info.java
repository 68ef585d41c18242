/** Several machines joined by a network: what allreduces across them and training steps on them cost. */
@NullMarked
package dev.banyan.study.cluster;

import org.jspecify.annotations.NullMarked;
