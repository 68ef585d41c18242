/** The example of docs/mpi.md. */
@NullMarked
package readme;

import org.jspecify.annotations.NullMarked;
