/** The examples of the README. */
@NullMarked
package readme;

import org.jspecify.annotations.NullMarked;
