/** The example of README.md. */
@NullMarked
package readme;

import org.jspecify.annotations.NullMarked;
