/** Several machines: the processes that mpirun started together, and collectives between them over Open MPI. */
@NullMarked
package dev.banyan.mpi;

import org.jspecify.annotations.NullMarked;
