/** Properties that a user can state where a description leaves them open. */
@NullMarked
package dev.banyan.topology.option;

import org.jspecify.annotations.NullMarked;
