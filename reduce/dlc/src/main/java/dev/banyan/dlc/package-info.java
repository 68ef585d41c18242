/** Traces of a parameter server's messages in the DLC format: read, write, statistics. */
@NullMarked
package dev.banyan.dlc;

import org.jspecify.annotations.NullMarked;
