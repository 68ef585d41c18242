/** The example of docs/msccl.md. */
@NullMarked
package readme;

import org.jspecify.annotations.NullMarked;
