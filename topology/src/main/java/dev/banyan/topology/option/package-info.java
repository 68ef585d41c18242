/** What a user can state about a description that leaves it open. */
@NullMarked
package dev.banyan.topology.option;

import org.jspecify.annotations.NullMarked;
