/** Collectives over several machines, between the processes that mpirun started, by Open MPI. */
@NullMarked
package dev.banyan.mpi;

import org.jspecify.annotations.NullMarked;
