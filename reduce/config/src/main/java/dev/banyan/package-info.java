/** The exceptions of Banyan that programs may catch. */
@NullMarked
package dev.banyan;

import org.jspecify.annotations.NullMarked;
