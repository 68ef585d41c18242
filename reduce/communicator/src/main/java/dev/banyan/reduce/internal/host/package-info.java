/** The embedded backend: virtual devices in the host's memory. */
@NullMarked
package dev.banyan.reduce.internal.host;

import org.jspecify.annotations.NullMarked;
