@NullMarked
package dev.banyan.simulate.cluster;

import org.jspecify.annotations.NullMarked;
