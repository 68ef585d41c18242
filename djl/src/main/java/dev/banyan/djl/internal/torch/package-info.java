/** Arrays of PyTorch, used where PyTorch keeps them. */
@NullMarked
package dev.banyan.djl.internal.torch;

import org.jspecify.annotations.NullMarked;
