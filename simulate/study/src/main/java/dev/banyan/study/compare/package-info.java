/** Ways to carry an allreduce, compared on a machine and on sets of its devices. */
@NullMarked
package dev.banyan.study.compare;

import org.jspecify.annotations.NullMarked;
