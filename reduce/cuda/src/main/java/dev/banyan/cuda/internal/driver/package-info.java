/** The driver: its library, devices, contexts, addresses, streams and events, and how its calls fail. */
@NullMarked
package dev.banyan.cuda.internal.driver;

import org.jspecify.annotations.NullMarked;
