/** The example of docs/kvstore.md. */
@NullMarked
package readme;

import org.jspecify.annotations.NullMarked;
