/** Data parallel training for programs of the Deep Java Library (DJL), on its PyTorch engine. */
@NullMarked
package dev.banyan.djl;

import org.jspecify.annotations.NullMarked;
