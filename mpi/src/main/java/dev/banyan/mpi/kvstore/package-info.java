/** Stores over several processes, in three designs. */
@NullMarked
package dev.banyan.mpi.kvstore;

import org.jspecify.annotations.NullMarked;
