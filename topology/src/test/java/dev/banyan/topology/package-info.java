@NullMarked
package dev.banyan.topology;

import org.jspecify.annotations.NullMarked;
