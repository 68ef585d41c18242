/** Code that the modules of Banyan share. It is not part of the API: it may change in any release. */
@NullMarked
package dev.banyan.reduce.internal;

import org.jspecify.annotations.NullMarked;
