/** The examples of docs/library.md and docs/processes.md. */
@NullMarked
package readme;

import org.jspecify.annotations.NullMarked;
