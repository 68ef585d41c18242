/** Places for the nodes and links of a machine in a drawing. */
@NullMarked
package dev.banyan.page.drawing;

import org.jspecify.annotations.NullMarked;
