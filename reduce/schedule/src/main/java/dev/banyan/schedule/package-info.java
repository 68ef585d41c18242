/** A collective as data: a DAG of copies and reductions of byte ranges, and its verifier. */
@NullMarked
package dev.banyan.schedule;

import org.jspecify.annotations.NullMarked;
