@NullMarked
package dev.banyan.topology.format;

import org.jspecify.annotations.NullMarked;
