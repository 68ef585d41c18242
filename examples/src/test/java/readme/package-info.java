/** The examples of README.md and docs/mpi.md. */
@NullMarked
package readme;

import org.jspecify.annotations.NullMarked;
